/**
 * The rules of protocol 3, "Admission", a story per row: what somebody did, and whether the API then shows an admitted
 * item that is offered, or one that is not offered and not granted. What happens when news is late, lost, doubled or out
 * of order is told in admission.test.ts and reconcile.test.ts.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reconcileRepository } from "../../src/services/reconcile.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { World } from "../harness/world.ts";
import {
  defectsOf,
  GATE,
  granted,
  intercept,
  readyNumbers,
  type Stories,
  startStories,
} from "./support/stories.ts";

/** Of acme/widgets: alice may do all, tess may triage, rita reads, robo is an admin's account that an agent uses. */
let repo: FakeRepository;
/** Where alice has rights too, and tess has none. */
let target: FakeRepository;
let stories: Stories;
let world: World;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  world.github.mannequin("imported");
  world.github.organization("the-org");
  repo = world.github.repository("acme/widgets", {
    collaborators: {
      alice: "admin",
      tess: "triage",
      rita: "read",
      robo: "admin",
      imported: "admin",
      "the-org": "admin",
    },
  });
  repo.setFile("main", ".github/leasehold.yml", "agents: [robo]\n");
  await world.install(repo);
  target = world.github.repository("acme/target", { collaborators: { alice: "admin" } });
  await world.install(target);
});
afterAll(() => world.end());

const APP = { viaApp: "some-agent" };

/** It happens to the item, and Leasehold has heard of it; answers the item. */
async function heard(number: number, act: () => unknown): Promise<number> {
  act();
  await world.settled();
  stories.later();
  return number;
}

function opened(by: string, labels: string[] = [], how: { viaApp?: string } = {}): Promise<number> {
  const issue = { title: "Work", body: "Do this.", labels: ["backlog", ...labels] };
  return heard(repo.as(by, how).openIssue(issue), () => {});
}

/** An item that waits for a human, because an agent brought it in. */
const waiting = (): Promise<number> => opened("planner[bot]");

/** What the API shows of an item's admission; all that it says has to agree. */
async function shown(number: number): Promise<{ admittedBy: string | null } | "waits"> {
  const { admitted, admittedBy, reasons } = await world.api.item(number);
  const { awaitingAdmission } = await world.api.ready("?limit=100");
  const offered = (await readyNumbers(world.api)).includes(number);
  const waits = reasons.some(({ reason }: { reason: string }) => reason === "not_admitted");
  expect({ waits, awaits: awaitingAdmission.includes(number), offered }).toEqual({
    waits: !admitted,
    awaits: !admitted,
    offered: admitted,
  });
  if (admitted) return { admittedBy };
  expect(await world.api.claim(number, "w/asks")).toMatchObject({ granted: false, reason: "not_admitted" });
  expect(repo.issue(number).labels.map((label) => label.toLowerCase())).toContain(GATE);
  return "waits";
}

/** A row: what was done in words, the item that it was done to, and whom the API names; "waits": not admitted. */
type Row = [what: string, act: () => Promise<number>, admittedBy: string];

describe("an item that opens", () => {
  it.each<Row>([
    [
      "by a proposal through the API: waits",
      async () => {
        const { number } = await world.api.repo("POST", "/items", {
          body: { title: "Proposed", body: "So." },
        });
        await world.settled();
        return number;
      },
      "waits",
    ],
    ["by an agent's account of type Bot: waits", () => opened("planner[bot]"), "waits"],
    ["by a person's account that is listed under `agents`: waits", () => opened("robo"), "waits"],
    ["by a person acting through an app: waits", () => opened("alice", [], APP), "waits"],
    ["by a mannequin with rights: waits", () => opened("imported"), "waits"],
    ["by an organization with rights: waits", () => opened("the-org"), "waits"],
    ["by somebody who may only read: waits", () => opened("rita"), "waits"],
    [
      "by a stranger, and is enrolled by a maintainer: waits",
      async () => {
        const number = repo.as("stranger").openIssue({ title: "Please" });
        return heard(number, () => repo.as("alice").label(number, "backlog"));
      },
      "waits",
    ],
    ["by a human with triage rights: is admitted", () => opened("tess"), "tess"],
    ["by a human with triage rights, under the label: waits", () => opened("alice", [GATE]), "waits"],
    [
      "by a human, under the label in other letters: waits",
      () => opened("alice", [GATE.toUpperCase()]),
      "waits",
    ],
  ])("%s", async (_, act, admittedBy) => {
    const number = await act();
    expect(await shown(number)).toEqual(admittedBy === "waits" ? "waits" : { admittedBy });
  });
});

describe("the label, taken off", () => {
  const takenOff =
    (by: string, how: { viaApp?: string } = {}) =>
    async () => {
      const number = await waiting();
      return heard(number, () => repo.as(by, how).unlabel(number, GATE));
    };

  it.each<[string, string]>([
    ["a human who may triage", "tess"],
    ["a human with every right", "alice"],
  ])("by %s: admits", async (_, by) => {
    const number = await takenOff(by)();
    expect(await shown(number)).toEqual({ admittedBy: by });
    expect(await defectsOf(world.api, number)).toEqual([]);
    expect(repo.issue(number).labels).not.toContain(GATE);
  });

  it.each<[string, () => Promise<number>]>([
    ["[20] a bot", takenOff("janitor[bot]")],
    ["[20] GitHub's own actions", takenOff("github-actions[bot]")],
    ["an account that is listed under `agents`", takenOff("robo")],
    ["[21] a person acting through an app", takenOff("alice", APP)],
    ["[20] a mannequin with rights", takenOff("imported")],
    ["[20] an organization with rights", takenOff("the-org")],
    ["somebody who may only read", takenOff("rita")],
    [
      "[13] nobody that GitHub names",
      async () => {
        const number = await waiting();
        const removal = intercept(world, () => repo.as("alice").unlabel(number, GATE));
        delete removal.sender;
        await world.github.deliver({ event: "issues", payload: removal });
        await world.settled();
        return number;
      },
    ],
  ])("by %s: admits nothing, is put back, and is recorded with the item", async (_, act) => {
    const number = await act();
    expect(await shown(number)).toBe("waits");
    expect(await defectsOf(world.api, number)).toEqual(["label_removed_by_agent"]);
  });

  it("by nobody, for the API has no call that admits", async () => {
    const number = await waiting();
    const tried = [
      await world.api.tryRepo("PATCH", `/items/${number}`, { body: { tags: { remove: [GATE] } } }),
      await world.api.tryRepo("PATCH", `/items/${number}`, { body: { admitted: true } }),
      await world.api.tryRepo("POST", `/items/${number}/advance`, { body: { trigger: "start" } }),
      await world.api.tryRepo("POST", `/items/${number}/advance`, { body: { trigger: "resume" } }),
    ];
    await world.settled();
    expect(tried.map(({ status, body }) => body.applied ?? status)).toEqual([200, 400, false, false]);
    expect(await shown(number)).toBe("waits");
  });
});

describe("an admitted item", () => {
  it.each<Row>([
    [
      "whose body is edited by somebody without triage rights: admission is withdrawn",
      async () => {
        const number = await opened("alice");
        return heard(number, () => repo.as("rita").editIssue(number, { body: "Do that." }));
      },
      "waits",
    ],
    [
      "whose body is edited by a bot: admission is withdrawn",
      async () => {
        const number = await opened("alice");
        return heard(number, () => repo.as("planner[bot]").editIssue(number, { body: "Do that." }));
      },
      "waits",
    ],
    [
      "whose body is edited by a human with triage rights: stays admitted",
      async () => {
        const number = await opened("alice");
        return heard(number, () => repo.as("tess").editIssue(number, { body: "Do this, please." }));
      },
      "alice",
    ],
    [
      "whose title is edited by somebody without rights: stays admitted",
      async () => {
        const number = await opened("alice");
        return heard(number, () => repo.as("rita").editIssue(number, { title: "Clearer" }));
      },
      "alice",
    ],
    ...["alice", "rita", "critic[bot]"].map(
      (by): Row => [
        `that is given the label by ${by}: admission is withdrawn`,
        async () => {
          const number = await opened("alice");
          return heard(number, () => repo.as(by).label(number, GATE));
        },
        "waits",
      ],
    ),
    [
      "[17] that is given the label in other letters: admission is withdrawn",
      async () => {
        const number = await opened("alice");
        return heard(number, () => repo.as("critic[bot]").label(number, "Needs-Specification"));
      },
      "waits",
    ],
    [
      "that a human admits once more after that: is admitted",
      async () => {
        const number = await opened("alice");
        await heard(number, () => repo.as("critic[bot]").label(number, GATE));
        return heard(number, () => repo.as("tess").unlabel(number, GATE));
      },
      "tess",
    ],
  ])("%s", async (_, act, admittedBy) => {
    const number = await act();
    expect(await shown(number)).toEqual(admittedBy === "waits" ? "waits" : { admittedBy });
  });

  it("that is held when the label comes: its claim goes on, and it is not offered again", async () => {
    const number = await opened("alice");
    const { fencingToken } = await granted(world.api, number, "w/busy");
    await heard(number, () => repo.as("critic[bot]").label(number, GATE));
    expect(await world.api.renew(number, fencingToken)).toMatchObject({ granted: true });
    const write = { fence: fencingToken, body: { resume: { resumeNote: "half done" } } };
    expect((await world.api.tryRepo("PATCH", `/items/${number}`, write)).status).toBe(200);
    expect(await world.api.release(number, fencingToken)).toMatchObject({ released: true });
    expect(await shown(number)).toBe("waits");
  });
});

describe("an item that waits", () => {
  it.each<Row>([
    [
      "whose specification a maintainer writes: waits on",
      async () => {
        const number = await waiting();
        return heard(number, () => repo.as("alice").editIssue(number, { body: "Given, when, then." }));
      },
      "waits",
    ],
    [
      "[19] whose label goes with the label's definition: waits on, under a new one",
      async () => {
        const number = await waiting();
        return heard(number, () => repo.as("alice").deleteLabel(GATE));
      },
      "waits",
    ],
    [
      "[18] whose label is renamed for all: waits on, under a new one",
      async () => {
        const number = await waiting();
        return heard(number, () => repo.as("alice").renameLabel(GATE, "todo"));
      },
      "waits",
    ],
    [
      "from which an agent took the label unheard: waits on, and the reconciler puts it back",
      async () => {
        const number = await waiting();
        world.github.silently(() => repo.as("planner[bot]").unlabel(number, GATE));
        await reconciled();
        expect(await defectsOf(world.api, number)).toEqual(["label_removed_by_agent"]);
        return number;
      },
      "waits",
    ],
    [
      "from which a human took it unheard: the reconciler finds who it was, and it is admitted",
      async () => {
        const number = await waiting();
        world.github.silently(() => repo.as("tess").unlabel(number, GATE));
        expect(await world.api.item(number)).toMatchObject({ admitted: false });
        await reconciled();
        return number;
      },
      "tess",
    ],
  ])("%s", async (_, act, admittedBy) => {
    const number = await act();
    expect(await shown(number)).toEqual(admittedBy === "waits" ? "waits" : { admittedBy });
  });
});

describe("a transfer", () => {
  it.each<[what: string, act: () => Promise<number>, admittedBy: string]>([
    ["of an item that waits admits nothing", waiting, "waits"],
    [
      "of an agent's item that a human of the old place admitted admits nothing",
      async () => {
        const number = await waiting();
        return heard(number, () => repo.as("tess").unlabel(number, GATE));
      },
      "waits",
    ],
    [
      "of an item whose admission was withdrawn admits nothing",
      async () => {
        const number = await opened("alice");
        return heard(number, () => repo.as("rita").editIssue(number, { body: "Do that." }));
      },
      "waits",
    ],
    [
      "of an item by a human who may triage there too is an item opened by them",
      () => opened("alice"),
      "alice",
    ],
  ])("%s", async (_, act, admittedBy) => {
    const number = await act();
    const moved = repo.as("alice").transfer(number, target);
    await world.settled();
    const there = world.api.with({ repo: "acme/target" });
    const waits = admittedBy === "waits";
    expect(await there.item(moved)).toMatchObject({
      admitted: !waits,
      admittedBy: waits ? null : admittedBy,
    });
    expect(target.issue(moved).labels.includes(GATE)).toBe(waits);
    expect(await there.claim(moved, "w/asks")).toMatchObject(
      waits ? { granted: false, reason: "not_admitted" } : { granted: true },
    );
  });
});

/** What GitHub might still tell is over; then the repository is read again. */
async function reconciled(): Promise<void> {
  stories.later(130);
  await reconcileRepository(world.app.deps, repo.id, "since");
  await world.settled();
}
