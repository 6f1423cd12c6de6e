/**
 * Completion (protocol 8): which words name an item, and news that is late, lost, doubled or out of order. What completes
 * an item and what does not, a story per row: completion-table.test.ts.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  defectsOf,
  expectNotReady,
  expectReady,
  expectRefused,
  granted,
  lastDelivery,
  OWN_BOT,
  outcomes,
  ownComments,
  type Stories,
  startStories,
} from "./support/stories.ts";

let stories: Stories;
let world: World;
let api: ApiClient;
/** Its default branch is main, and so is its items' base. */
let repo: FakeRepository;
/** Its items' base is dev, not its default branch. */
let dev: FakeRepository;
let devApi: ApiClient;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
  repo.as("alice").createBranch("feature-x");
  dev = await world.repository("acme/dev", { walt: "write" });
  dev.as("alice").createBranch("dev");
  dev.as("alice").createBranch("feature-x");
  devApi = api.with({ repo: "acme/dev" });
  await world.db
    .updateTable("repository")
    .set({ settings: JSON.stringify({ defaults: { baseBranch: "dev" } }) })
    .where("id", "=", dev.id)
    .execute();
});
afterAll(() => world.end());

async function readyItem(where: FakeRepository, title = "Work"): Promise<number> {
  const number = where.as("alice").openIssue({ title, labels: ["backlog"] });
  await world.settled();
  stories.later();
  return number;
}

let lastBranch = 0;
const freshBranch = (): string => {
  lastBranch += 1;
  return `topic/${lastBranch}`;
};

/** A pull request of alice's into dev's `base`. */
const pullInto = (base: string, body: string | null, head = freshBranch()): number =>
  dev.as("alice").openPull({ base, head, body });

async function expectComplete(on: ApiClient, where: FakeRepository, number: number, pull: number) {
  expect(await on.item(number)).toMatchObject({ state: "complete", role: "terminal", issueState: "closed" });
  expect((await on.item(number)).tags).toContain(`pr:${pull}`);
  expect(where.issue(number)).toMatchObject({ state: "closed", stateReason: "completed" });
}

async function expectLive(on: ApiClient, number: number) {
  expect(await on.item(number)).toMatchObject({ state: null });
}

describe("a merge into the item's base", () => {
  it("[56] completes every item that it names with a keyword, and no other", async () => {
    const [first, second, third] = [await readyItem(dev), await readyItem(dev), await readyItem(dev)];
    dev.as("alice").merge(pullInto("dev", `fixes #${first}, #${second}\n\nRESOLVES: acme/dev#${third}`));
    await world.settled();
    expect(await devApi.item(first)).toMatchObject({ state: "complete" });
    await expectLive(devApi, second);
    expect(await devApi.item(third)).toMatchObject({ state: "complete" });
  });

  it("[53] counts when it was squashed or rebased", async () => {
    for (const method of ["squash", "rebase"] as const) {
      const number = await readyItem(dev);
      const pull = pullInto("dev", `Closes #${number}`);
      dev.as("alice").merge(pull, { method });
      await world.settled();
      await expectComplete(devApi, dev, number, pull);
    }
  });

  it("[51] counts by the base that it had in the end", async () => {
    const number = await readyItem(dev);
    const pull = pullInto("feature-x", `Fixes #${number}`);
    dev.as("alice").editPull(pull, { base: "dev" });
    dev.as("alice").merge(pull);
    await world.settled();
    await expectComplete(devApi, dev, number, pull);
    expect(await defectsOf(devApi, number)).toEqual([]);
  });

  it("[51] counts when the news of its retargeting is lost", async () => {
    const number = await readyItem(dev);
    const pull = pullInto("feature-x", `Fixes #${number}`);
    await world.settled();
    world.github.silently(() => dev.as("alice").editPull(pull, { base: "dev" }));
    dev.as("alice").merge(pull);
    await world.settled();
    await expectComplete(devApi, dev, number, pull);
  });

  it("[53] counts when GitHub leaves the merged flag out, and only by the time of the merge", async () => {
    const number = await readyItem(dev);
    const pull = pullInto("dev", `Fixes #${number}`);
    await world.settled();
    world.github.hold();
    dev.as("alice").merge(pull);
    const closed = world.github.drop().find(({ event }) => event === "pull_request");
    world.github.release();
    const payload = JSON.parse(closed?.payload ?? "null");
    delete payload.pull_request.merged;
    await world.github.deliver({ event: "pull_request", payload });
    await world.settled();
    await expectComplete(devApi, dev, number, pull);
  });

  it("[13] counts when nobody is named as its sender or author", async () => {
    const number = await readyItem(dev);
    const pull = pullInto("dev", `Fixes #${number}`);
    await world.settled();
    world.github.hold();
    dev.as("alice").merge(pull);
    const closed = world.github.drop().find(({ event }) => event === "pull_request");
    world.github.release();
    const payload = JSON.parse(closed?.payload ?? "null");
    delete payload.sender;
    payload.pull_request.user = null;
    await world.github.deliver({ event: "pull_request", payload });
    await world.settled();
    await expectComplete(devApi, dev, number, pull);
  });

  it("[1] completes once, however often and in whatever order its news comes", async () => {
    const number = await readyItem(dev);
    const pull = pullInto("dev", `Fixes #${number}`);
    world.github.hold();
    dev.as("alice").merge(pull);
    world.github.release({ order: "reverse" });
    await world.settled();
    const closed = lastDelivery(world, "closed");
    const merge = world.github.deliveries.findLast(
      ({ event, action }) => event === "pull_request" && action === "closed",
    );
    await world.github.redeliver(merge?.guid ?? "");
    await world.github.deliver({ event: "pull_request", payload: merge?.payload });
    await world.github.redeliver(closed.guid);
    await world.settled();
    await expectComplete(devApi, dev, number, pull);
    expect(outcomes(dev, number, "complete")).toHaveLength(1);
  });

  it("[61] completes once when the pull request was closed and reopened before", async () => {
    const number = await readyItem(dev);
    const pull = pullInto("dev", `Fixes #${number}`);
    const alice = dev.as("alice");
    alice.convertToDraft(pull);
    alice.closePull(pull);
    await world.settled();
    await expectLive(devApi, number);
    alice.reopenPull(pull);
    alice.readyForReview(pull);
    alice.merge(pull);
    await world.settled();
    await expectComplete(devApi, dev, number, pull);
    expect(outcomes(dev, number, "complete")).toHaveLength(1);
  });

  it("[61] and a revert is told once to whoever watches the issue, and changes nothing", async () => {
    const number = await readyItem(dev);
    const pull = pullInto("dev", `Fixes #${number}`);
    dev.as("alice").merge(pull);
    await world.settled();
    const told = (n: number) => ownComments(dev, n).filter((body) => body.includes("was reverted by"));
    const elsewhere = pullInto("main", `Reverts acme/dev#${pull}`);
    dev.as("alice").merge(elsewhere);
    await world.settled();
    expect(told(number)).toEqual([]);
    const revert = pullInto("dev", `Reverts acme/dev#${pull}\n\nFixes #${number}`);
    dev.as("alice").merge(revert);
    await world.settled();
    await world.github.redeliver(lastDelivery(world, "closed").guid);
    await world.settled();
    expect(told(number)).toEqual([
      `<!-- leasehold: reverted item=issue-${number} by=${revert} -->\n` +
        `Pull request #${pull}, which completed this, was reverted by #${revert}. It stays complete; ` +
        "whoever wants the work done again reopens the issue.",
    ]);
    await expectComplete(devApi, dev, number, pull);
    // Taken up again, it is completed by what comes then, and by no revert.
    dev.as("alice").reopen(number);
    await world.settled();
    dev.as("alice").merge(pullInto("dev", `Reverts acme/dev#${pull}\n\nFixes #${number}`));
    await world.settled();
    await expectLive(devApi, number);
    expect(told(number)).toHaveLength(1);
  });

  it("ends the claim: the outcome names its holder, whose next write is refused", async () => {
    const number = await readyItem(dev);
    const { fencingToken } = await granted(devApi, number, "worker/a");
    dev.as("alice").merge(pullInto("dev", `Fixes #${number}`));
    await world.settled();
    expect(outcomes(dev, number, "complete")[0]).toContain(`owner=worker/a fence=${fencingToken} result=`);
    const write = { fence: fencingToken, body: { body: "too late" } };
    expect(await devApi.tryRepo("PATCH", `/memory/backlog/issue-${number}`, write)).toMatchObject({
      status: 409,
      body: { code: "claim_released" },
    });
    expect(await devApi.renew(number, fencingToken)).toMatchObject({ granted: false, reason: "superseded" });
    await expectRefused(devApi, number, "complete");
  });

  it("frees what waited for it", async () => {
    const [first, second] = [await readyItem(dev), await readyItem(dev)];
    await devApi.block(second, first);
    await expectNotReady(devApi, second);
    dev.as("alice").merge(pullInto("dev", `Fixes #${first}`));
    await world.settled();
    await expectReady(devApi, second);
  });

  it("completes a parked item too", async () => {
    const number = await readyItem(dev);
    dev.as("alice").label(number, "stale");
    await world.settled();
    expect(await devApi.item(number)).toMatchObject({ state: "parked" });
    stories.later();
    const pull = pullInto("dev", `Fixes #${number}`);
    dev.as("alice").merge(pull);
    await world.settled();
    await expectComplete(devApi, dev, number, pull);
  });
});

describe("a merge into the default branch, which is the item's base", () => {
  it("is recorded as the reason, although GitHub closes the issue in the merger's name", async () => {
    const number = await readyItem(repo);
    const pull = repo.as("alice").openPull({ head: freshBranch(), body: `Fixes #${number}` });
    repo.as("alice").merge(pull);
    await world.settled();
    await expectComplete(api, repo, number, pull);
    expect(outcomes(repo, number, "complete")).toHaveLength(1);
  });

  it("is recorded when the news of the closing comes before that of the merge", async () => {
    const number = await readyItem(repo);
    const pull = repo.as("alice").openPull({ head: freshBranch(), body: `Fixes #${number}` });
    await world.settled();
    world.github.hold();
    repo.as("alice").merge(pull);
    const [merge, push, suite, closing, ...more] = heldEvents();
    expect([merge, push, closing, more]).toEqual(["pull_request.closed", "push.", "issues.closed", []]);
    expect(suite).toMatch("check_suite");
    world.github.release({ order: [3, 0, 1, 2] });
    await world.settled();
    await expectComplete(api, repo, number, pull);
    expect(outcomes(repo, number, "complete")).toHaveLength(1);
    expect(outcomes(repo, number, "complete")[0]).toContain(`#${pull}`);
  });

  it("[59] is recorded when only its commits name the item, whichever news comes first", async () => {
    for (const order of ["as sent", "reverse"] as const) {
      const number = await readyItem(repo);
      const head = freshBranch();
      repo.as("alice").push(head, { message: `Close #${number}` });
      const pull = repo.as("alice").openPull({ head });
      await world.settled();
      world.github.hold();
      repo.as("alice").merge(pull);
      world.github.release(order === "reverse" ? { order } : {});
      await world.settled();
      await expectComplete(api, repo, number, pull);
    }
  });

  it("[59] by a commit pushed without a pull request follows who pushed: a human's close completes", async () => {
    const number = await readyItem(repo);
    repo.as("alice").push("main", { message: `Fixes #${number}` });
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: "complete" });
  });
});

const heldEvents = (): string[] =>
  world.github.deliveries
    .filter(({ status }) => status === "queued")
    .map(({ event, action }) => `${event}.${action ?? ""}`);

describe("a merge elsewhere", () => {
  it("[50] completes nothing, and is reported until the right one comes", async () => {
    const number = await readyItem(dev);
    dev.as("alice").merge(pullInto("feature-x", `Fixes #${number}`));
    await world.settled();
    await expectLive(devApi, number);
    expect(dev.issue(number).state).toBe("open");
    expect(await defectsOf(devApi, number)).toEqual(["wrong_base"]);
    await expectNotReady(devApi, number);

    const pull = pullInto("dev", `Fixes #${number}`, "feature-x");
    dev.as("alice").merge(pull);
    await world.settled();
    await expectComplete(devApi, dev, number, pull);
    expect(await defectsOf(devApi, number)).toEqual([]);
  });

  it("[50] completes nothing when the news of the closing comes before that of the merge", async () => {
    const number = await readyItem(dev);
    const pull = pullInto("main", `Fixes #${number}`);
    await world.settled();
    world.github.hold();
    dev.as("alice").merge(pull);
    const queue = heldEvents();
    const closing = queue.indexOf("issues.closed");
    const rest = queue.map((_, place) => place).filter((place) => place !== closing);
    world.github.release({ order: [closing, ...rest] });
    await world.settled();
    await expectLive(devApi, number);
    expect(await defectsOf(devApi, number)).toContain("wrong_base");
  });

  it.each([
    ["names it", (n: number) => `Fixes #${n}`],
    ["[57] denies it, which GitHub does not read", (n: number) => `does not fix #${n}`],
  ])("[50] completes nothing when of the pull request nothing was ever heard, and it %s", async (_, body) => {
    const number = await readyItem(dev);
    world.github.hold();
    dev.as("alice").merge(pullInto("main", body(number)));
    const closing = world.github.drop().find(({ event }) => event === "issues");
    world.github.release();
    await world.github.deliver({ event: "issues", payload: closing?.payload });
    await world.settled();
    expect(await devApi.item(number)).toMatchObject({ state: null, issueState: "closed" });
  });

  it("[59] by a commit's message completes nothing, though GitHub closes the issue", async () => {
    const number = await readyItem(dev);
    const branch = freshBranch();
    dev.as("alice").push(branch, { message: `Fixes #${number}` });
    dev.as("alice").merge(pullInto("main", null, branch));
    expect(dev.issue(number).state).toBe("closed");
    await world.settled();
    await expectLive(devApi, number);
    expect(await defectsOf(devApi, number)).toContain("wrong_base");
  });

  it("[54] closed unmerged with a bors title is flagged, and completes nothing until a human says so", async () => {
    const number = await readyItem(dev);
    const pull = pullInto("dev", `Fixes #${number}`);
    dev.as("alice").editPull(pull, { title: "[Merged by Bors] - Work" });
    dev.as("alice").closePull(pull);
    await world.settled();
    await expectReady(devApi, number);
    expect((await devApi.item(number)).defects).toEqual([
      {
        code: "doubtful_merge",
        number,
        value: `#${pull}`,
        detail: expect.stringContaining("close the issue as completed"),
        since: expect.any(String),
      },
    ]);
    dev.as("alice").close(number, "completed");
    await world.settled();
    expect(await devApi.item(number)).toMatchObject({ state: "complete", defects: [] });
  });
});

it("[54] a fork's branch that is named as an item's flags nothing on it, whatever the title says", async () => {
  const number = await readyItem(dev);
  const pull = dev.as("mallory").openPull({ head: `feat/issue-${number}`, base: "dev", fork: true });
  dev.as("mallory").editPull(pull, { title: "[Merged by Bors] - Not at all" });
  dev.as("mallory").closePull(pull);
  await world.settled();
  expect(await defectsOf(devApi, number)).toEqual([]);
});

describe("what names an item and does not complete it", () => {
  it.each([
    ["[56] another word", (n: number) => `prefixes #${n}, closing #${n}`],
    ["[56] another repository", (n: number) => `Fixes other/dev#${n}`],
    ["[58] code", (n: number) => `\`Fixes #${n}\`\n\n\`\`\`\nFixes #${n}\n\`\`\``],
    ["[58] a quotation", (n: number) => `> Fixes #${n}`],
    ["[61] a revert", (n: number) => `Reverts acme/dev#12\n\nFixes #${n}`],
  ])("%s", async (_, body) => {
    const number = await readyItem(dev);
    dev.as("alice").merge(pullInto("dev", body(number)));
    await world.settled();
    await expectLive(devApi, number);
    expect(dev.issue(number).state).toBe("open");
    expect(await defectsOf(devApi, number)).toEqual([]);
  });

  it.each([
    ["[57] a negation", (n: number) => `This does not fix #${n}.`, "denies it"],
    [
      "[57] a link to a comment",
      (n: number) => `Fix https://github.com/acme/dev/issues/${n}#issuecomment-1`,
      "a place within its page",
    ],
    [
      "[58] a linked form",
      (n: number) => `Closes [#${n}](https://github.com/acme/dev/issues/${n})`,
      "closes some and not others",
    ],
  ])("%s, which is flagged until the text leaves no doubt", async (_, body, why) => {
    const number = await readyItem(dev);
    const pull = pullInto("dev", body(number));
    await world.settled();
    expect(await defectsOf(devApi, number)).toEqual([]);
    dev.as("alice").merge(pull);
    await world.settled();
    await expectReady(devApi, number);
    const detail = expect.stringContaining(why);
    expect((await devApi.item(number)).defects).toMatchObject([
      { code: "doubtful_merge", value: `#${pull}`, detail },
    ]);
    const report = await devApi.repo("GET", "/report");
    expect(report.defects).toContainEqual(
      expect.objectContaining({ number, code: "doubtful_merge", detail }),
    );
    expect(report.divergences).toContainEqual(expect.objectContaining({ number, leasehold: "live" }));
    dev.as("alice").editPull(pull, { body: "Some work." });
    await world.settled();
    expect(await defectsOf(devApi, number)).toEqual([]);
  });

  it("[57] closed by GitHub all the same on its default branch, the human's close counts", async () => {
    const number = await readyItem(repo);
    repo
      .as("alice")
      .merge(repo.as("alice").openPull({ head: freshBranch(), body: `does not fix #${number}` }));
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: "complete" });
  });

  it("a stranger's fork whose branch is named as the item's", async () => {
    const number = await readyItem(dev);
    const pull = dev.as("eve").openPull({ base: "dev", head: `feat/issue-${number}`, fork: true });
    dev.as("alice").merge(pull);
    await world.settled();
    await expectLive(devApi, number);
  });

  it("[47] a keyword with a pull request's number", async () => {
    const other = pullInto("dev", null);
    const pull = pullInto("dev", `Fixes #${other}`);
    dev.as("alice").merge(pull);
    await world.settled();
    expect((await devApi.tryRepo("GET", `/items/${other}`)).status).toBe(404);
  });

  it("[14] a pull request without a body", async () => {
    const number = await readyItem(dev);
    dev.as("alice").merge(pullInto("dev", null));
    await world.settled();
    await expectLive(devApi, number);
  });
});

describe("closing by hand", () => {
  it("by a bot, then again by a human for the same reason after reopening, completes it", async () => {
    const number = await readyItem(repo);
    repo.as("actions-stale[bot]").close(number, "completed");
    await world.settled();
    stories.later();
    repo.as("alice").reopen(number);
    await world.settled();
    await expectReady(api, number);
    stories.later();
    repo.as("alice").close(number, "completed");
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: "complete" });
  });

  it("is undone if the issue was reopened within the same second, in whatever order that is heard", async () => {
    const number = await readyItem(repo);
    world.github.hold();
    repo.as("alice").close(number, "completed");
    repo.as("alice").reopen(number);
    world.github.release({ order: "reverse" });
    await world.settled();
    await expectReady(api, number);
  });
});

describe("reopening", () => {
  it("[33] brings a completed item back, with its attempts", async () => {
    const number = await readyItem(repo);
    await granted(api, number, "worker/a");
    repo.as("alice").close(number, "completed");
    await world.settled();
    stories.later();
    repo.as("alice").reopen(number);
    await world.settled();
    await expectReady(api, number);
    expect(await api.claim(number, "worker/b")).toMatchObject({ granted: true, attempt: 2 });
  });

  it("[33] is not undone by the old merge's news coming again", async () => {
    const number = await readyItem(dev);
    dev.as("alice").merge(pullInto("dev", `Fixes #${number}`));
    await world.settled();
    const merge = world.github.deliveries.findLast(
      ({ event, action }) => event === "pull_request" && action === "closed",
    );
    stories.later();
    dev.as("alice").reopen(number);
    await world.settled();
    await world.github.deliver({ event: "pull_request", payload: merge?.payload });
    await world.settled();
    await expectReady(devApi, number);
    expect(dev.issue(number).state).toBe("open");
  });
});

describe("the App's own close", () => {
  it("[23] is no news: it changes nothing and causes no write", async () => {
    const number = await readyItem(dev);
    dev.as("alice").merge(pullInto("dev", `Fixes #${number}`));
    await world.settled();
    const own = lastDelivery(world, "closed");
    expect(own.body).toMatchObject({ sender: { login: OWN_BOT }, issue: { number } });
    const before = world.github.requests.length;
    await world.github.deliver({ event: "issues", payload: own.payload });
    await world.settled();
    expect(world.github.requests.slice(before).filter(({ method }) => method !== "GET")).toEqual([]);
    expect(await devApi.item(number)).toMatchObject({ state: "complete" });
  });
});
