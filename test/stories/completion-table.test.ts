/**
 * The rules of protocol 8, "Completion", a story per row: what happened, and what the API and GitHub show of the item then.
 * Which words name an item, and news that is late, lost or out of order: completion.test.ts. The evidence that a holder has
 * to show: "the holder completes" in finishing.test.ts. The claim check: claim-check.test.ts.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { granted, intercept, outcomes, readyNumbers, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
/** Its default branch is main, its items' base is dev; robo is a person's account that an agent uses. */
let repo: FakeRepository;
let api: ApiClient;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = world.github.repository("acme/widgets", {
    collaborators: { alice: "admin", tess: "triage", rita: "read", robo: "admin" },
  });
  repo.setFile("main", ".github/leasehold.yml", "agents: [robo]\ndefaults:\n  baseBranch: dev\n");
  for (const branch of ["dev", "feature-x"]) repo.as("alice").createBranch(branch);
  await world.install(repo);
});
afterAll(() => world.end());

const alice = () => repo.as("alice");

async function happens(act: () => unknown): Promise<void> {
  stories.later();
  act();
  await world.settled();
}

async function item(by = "alice"): Promise<number> {
  const number = repo.as(by).openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  return number;
}

let last = 0;
const freshBranch = (): string => {
  last += 1;
  return `topic/${last}`;
};

/** A pull request of alice's, merged. */
async function merged(how: { base?: string; head?: string; body?: string; fork?: string }): Promise<number> {
  const { base = "dev", head = freshBranch(), body = null, fork } = how;
  const by = fork ? repo.as(fork) : alice();
  stories.later();
  const pull = by.openPull({ base, head, body, fork: fork !== undefined });
  await happens(() => alice().merge(pull));
  return pull;
}

/** What waits for the item, to see whether it is freed. */
async function dependentOf(number: number): Promise<number> {
  const dependent = await item();
  await api.block(dependent, number);
  return dependent;
}

const offered = async (number: number) => (await readyNumbers(api)).includes(number);

async function view(number: number) {
  const { state, role, issueState, stateReason, defects } = await api.item(number);
  const codes = defects.map(({ code }: { code: string }) => code);
  return { state, role, issueState, stateReason, defects: codes };
}

const COMPLETE = {
  state: "complete",
  role: "terminal",
  issueState: "closed",
  stateReason: "completed",
  defects: [],
};
const LIVE = { state: null, role: "queue", issueState: "open", stateReason: null, defects: [] };

describe("a pull request merged into the item's base completes it", () => {
  it.each<[how: string, merge: (number: number, fence: number) => Promise<number>]>([
    ["[49] that closes it by keyword", (number) => merged({ body: `Fixes #${number}` })],
    [
      "[59] of which only a commit closes it by keyword",
      (number) => {
        const head = freshBranch();
        alice().push(head, { message: `Close #${number}`, from: "dev" });
        return merged({ head });
      },
    ],
    ["from its working branch", (number) => merged({ head: `feat/issue-${number}` })],
    [
      "that its holder recorded by its number",
      async (number, fence) => {
        const pull = alice().openPull({ base: "dev", head: freshBranch() });
        const resume = { lastLocation: { pullRequest: pull } };
        await api.repo("PATCH", `/items/${number}`, { fence, body: { resume } });
        await happens(() => alice().merge(pull));
        return pull;
      },
    ],
    [
      "that its holder recorded by its branch",
      async (number, fence) => {
        const head = freshBranch();
        await api.repo("PATCH", `/items/${number}`, {
          fence,
          body: { resume: { lastLocation: { branch: head } } },
        });
        return merged({ head });
      },
    ],
    [
      "that is the default branch, where GitHub closes the issue itself",
      async (number, fence) => {
        const tags = { add: ["baseBranch:main"], remove: ["baseBranch:dev"] };
        await api.repo("PATCH", `/items/${number}`, { fence, body: { tags } });
        return merged({ base: "main", body: `Fixes #${number}` });
      },
    ],
    [
      "by a stranger, from a fork: a human merged it",
      (number) => merged({ body: `Fixes #${number}`, fork: "eve" }),
    ],
    [
      "after one that was closed without a merge",
      async (number) => {
        const refused = alice().openPull({ base: "dev", head: freshBranch(), body: `Fixes #${number}` });
        await happens(() => alice().closePull(refused));
        return merged({ body: `Fixes #${number}` });
      },
    ],
    [
      "[50] after one that was merged elsewhere",
      async (number) => {
        await merged({ base: "feature-x", body: `Fixes #${number}` });
        return merged({ body: `Fixes #${number}` });
      },
    ],
  ])("%s", async (_, merge) => {
    const number = await item();
    const dependent = await dependentOf(number);
    const { fencingToken } = await granted(api, number, "w/a", { leaseSeconds: 900 });
    const pull = await merge(number, fencingToken);

    expect(await view(number)).toEqual(COMPLETE);
    expect((await api.item(number)).tags).toEqual(expect.arrayContaining(["state:complete", `pr:${pull}`]));
    expect(repo.issue(number)).toMatchObject({ state: "closed", stateReason: "completed" });
    expect(outcomes(repo, number, "complete")).toEqual([
      expect.stringContaining(`owner=w/a fence=${fencingToken} result=complete`),
    ]);
    expect(outcomes(repo, number, "complete")[0]).toContain(`#${pull}`);
    expect(await api.status(number)).toMatchObject({ claimed: false, isHeld: false });
    expect(await api.claim(number, "w/b")).toMatchObject({ granted: false, reason: "complete" });
    expect(await offered(dependent)).toBe(true);
  });
});

describe("a pull request that does not complete its item", () => {
  it.each<[how: string, act: (number: number) => Promise<unknown>, shown: object]>([
    [
      "[50] merged elsewhere: wrong_base",
      (number) => merged({ base: "feature-x", body: `Fixes #${number}` }),
      { ...LIVE, defects: ["wrong_base"] },
    ],
    [
      "[50] merged elsewhere, known by its branch alone: wrong_base",
      (number) => merged({ base: "feature-x", head: `feat/issue-${number}` }),
      { ...LIVE, defects: ["wrong_base"] },
    ],
    [
      "[50] merged into the default branch, though GitHub closes the issue for it: wrong_base, and closed but live",
      (number) => merged({ base: "main", body: `Fixes #${number}` }),
      {
        ...LIVE,
        issueState: "closed",
        stateReason: "completed",
        defects: ["issue_closed_item_live", "wrong_base"],
      },
    ],
    [
      "[61] closed without a merge: nothing",
      async (number) => {
        const pull = alice().openPull({ base: "dev", head: freshBranch(), body: `Fixes #${number}` });
        await happens(() => alice().closePull(pull));
      },
      LIVE,
    ],
    [
      "merged, that names it without a keyword: nothing",
      (number) => merged({ body: `About #${number}` }),
      LIVE,
    ],
    [
      "merged from a stranger's branch that only has the name of the item's: nothing",
      (number) => merged({ head: `feat/issue-${number}`, fork: "eve" }),
      LIVE,
    ],
    [
      "[61] merged, that reverts another and quotes it: nothing",
      (number) => merged({ body: `Reverts acme/widgets#1\n\nFixes #${number}` }),
      LIVE,
    ],
  ])("%s", async (_, act, shown) => {
    const number = await item();
    const dependent = await dependentOf(number);
    await act(number);
    const { defects, ...rest } = await view(number);
    expect({ ...rest, defects: defects.sort() }).toEqual(shown);
    expect(await offered(dependent)).toBe(false);
    expect(outcomes(repo, number, "complete")).toEqual([]);
  });

  it("merged, that names a grouping: no merge completes an epic", async () => {
    const [epic, part] = [await item(), await item()];
    const links = { add: { partOf: [`mem/backlog/issue-${epic}`] } };
    await api.repo("PATCH", `/items/${part}`, { body: { links } });
    await merged({ body: `Fixes #${epic}` });
    expect(await api.item(epic)).toMatchObject({ state: null, issueState: "open" });
  });
});

const CANCELLED = { state: "cancelled", role: "terminal", issueState: "closed", defects: [] };
const DIVERGES = {
  ...LIVE,
  issueState: "closed",
  stateReason: "completed",
  defects: ["issue_closed_item_live"],
};

describe("an issue closed by hand", () => {
  it.each<[what: string, close: (number: number) => Promise<unknown>, shown: object]>([
    [
      "[32] as completed by a human who may triage: complete",
      (number) => happens(() => repo.as("tess").close(number, "completed")),
      COMPLETE,
    ],
    [
      "[32] without a reason by a human: complete",
      (number) => happens(() => alice().close(number, null)),
      { ...COMPLETE, stateReason: null },
    ],
    [
      "as completed by a human after a merge elsewhere: complete",
      async (number) => {
        await merged({ base: "feature-x", body: `Fixes #${number}` });
        await happens(() => alice().close(number, "completed"));
      },
      COMPLETE,
    ],
    [
      "[32] as not planned by a human: cancelled",
      (number) => happens(() => alice().close(number, "not_planned")),
      { ...CANCELLED, stateReason: "not_planned" },
    ],
    [
      "[32] as a duplicate by a human: cancelled",
      (number) => happens(() => alice().close(number, "duplicate")),
      { ...CANCELLED, stateReason: "duplicate" },
    ],
    [
      "first as completed, then as not planned: cancelled",
      async (number) => {
        await happens(() => alice().close(number, "completed"));
        await happens(() => alice().close(number, "not_planned"));
      },
      { ...CANCELLED, stateReason: "not_planned" },
    ],
    [
      "[26] as completed by a bot: a divergence",
      (number) => happens(() => repo.as("actions-stale[bot]").close(number, "completed")),
      DIVERGES,
    ],
    [
      "[26] as not planned by a bot: a divergence, not cancelled",
      (number) => happens(() => repo.as("actions-stale[bot]").close(number, "not_planned")),
      { ...DIVERGES, stateReason: "not_planned" },
    ],
    [
      "as completed by a listed agent with a person's account: a divergence",
      (number) => happens(() => repo.as("robo").close(number, "completed")),
      DIVERGES,
    ],
    [
      "as completed through an app with a person's token: a divergence",
      (number) => happens(() => repo.as("alice", { viaApp: "some-agent" }).close(number, "completed")),
      DIVERGES,
    ],
    [
      "[13] as completed by nobody that GitHub names: a divergence",
      async (number) => {
        const closed = intercept(world, () => alice().close(number, "completed"));
        delete closed.sender;
        await world.github.deliver({ event: "issues", payload: closed });
        await world.settled();
      },
      DIVERGES,
    ],
    [
      "as completed by its author, who may not triage: a divergence",
      (number) => happens(() => repo.as("rita").close(number, "completed")),
      DIVERGES,
    ],
  ])("%s", async (_, close, shown) => {
    const number = await item();
    const dependent = await dependentOf(number);
    await close(number);
    expect(await view(number)).toEqual(shown);
    const { state } = await api.item(number);
    expect(await api.claim(number, "w/b")).toMatchObject({
      granted: false,
      reason: state === "complete" ? "complete" : "closed",
    });
    expect(await offered(number)).toBe(false);
    expect(await offered(dependent)).toBe(state === "complete");
    const codes = (await view(dependent)).defects;
    expect(codes).toEqual(state === "cancelled" ? ["stalled_blocker"] : []);
  });

  it("while it is held: the claim ends, and the issue says so", async () => {
    const number = await item();
    const { fencingToken } = await granted(api, number, "w/a");
    await happens(() => repo.as("tess").close(number, "completed"));
    expect(await api.status(number)).toMatchObject({ claimed: false });
    expect(await api.renew(number, fencingToken)).toMatchObject({ granted: false, reason: "superseded" });
    expect(outcomes(repo, number, "complete")[0]).toContain(`fence=${fencingToken} result=complete`);
  });
});

describe("an issue reopened", () => {
  const ended: [what: string, end: (number: number) => Promise<unknown>][] = [
    ["completed by a merge", (number) => merged({ body: `Fixes #${number}` })],
    ["completed by a human", (number) => happens(() => alice().close(number, "completed"))],
    ["cancelled by a human", (number) => happens(() => alice().close(number, "not_planned"))],
    ["closed by a bot", (number) => happens(() => repo.as("janitor[bot]").close(number, "completed"))],
  ];
  it.each(ended)("[33] by a human that was %s: back, and what waits for it waits again", async (_, end) => {
    const number = await item();
    const dependent = await dependentOf(number);
    await end(number);
    await happens(() => alice().reopen(number));
    expect(await view(number)).toEqual({ ...LIVE, stateReason: "reopened" });
    expect(await offered(number)).toBe(true);
    expect(await offered(dependent)).toBe(false);
    expect((await view(dependent)).defects).toEqual([]);
  });

  it("and completed once more by another merge: complete, and said a second time", async () => {
    const number = await item();
    await merged({ body: `Fixes #${number}` });
    await happens(() => alice().reopen(number));
    const pull = await merged({ body: `Fixes #${number}` });
    expect(await view(number)).toEqual(COMPLETE);
    expect((await api.item(number)).tags).toContain(`pr:${pull}`);
    expect(outcomes(repo, number, "complete")).toHaveLength(2);
  });

  it.each(ended.slice(0, 3))(
    "by a bot that was %s: stays at its end, and the difference is a defect",
    async (_, end) => {
      const number = await item();
      await end(number);
      const { state } = await api.item(number);
      await happens(() => repo.as("janitor[bot]").reopen(number));
      await stories.pass(301);
      expect(await api.item(number)).toMatchObject({ state, issueState: "open" });
      expect((await view(number)).defects).toEqual(["item_complete_issue_open"]);
      expect(await offered(number)).toBe(false);
    },
  );
});
