/** An item's own pull request (protocol 6): in review, resumable, or ready again. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  expectNotReady,
  expectReady,
  expectRefused,
  granted,
  ownComments,
  readyNumbers,
  type Stories,
  startStories,
} from "./support/stories.ts";

let stories: Stories;
let world: World;
let api: ApiClient;
let repo: FakeRepository;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository("acme/widgets", { bob: "write" });
});
afterAll(() => world.end());

async function readyItem(labels: string[] = ["backlog"]): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "Work", labels });
  await world.settled();
  return number;
}

/** An item whose working branch has an open pull request; its checks are green unless told otherwise. */
async function itemWithPull(more: { draft?: boolean; checks?: "success" | "failure" | "none" } = {}) {
  const number = await readyItem();
  const pull = repo.as("bob").openPull({ head: `feat/issue-${number}`, draft: more.draft ?? false });
  const checks = more.checks ?? "success";
  if (checks !== "none") repo.checkSuite(pull, { status: "completed", conclusion: checks });
  await world.settled();
  return { number, pull };
}

const reasons = async (number: number): Promise<string[]> =>
  (await api.item(number)).reasons.map(({ reason }: { reason: string }) => reason);

async function expectInReview(number: number, waitsFor: RegExp): Promise<void> {
  const item = await api.item(number);
  expect(item).toMatchObject({ role: "review", resumable: false });
  expect(item.reasons).toEqual([{ reason: "in_review", detail: expect.stringMatching(waitsFor) }]);
  await expectNotReady(api, number);
}

async function expectResumable(number: number): Promise<void> {
  expect(await api.item(number)).toMatchObject({ role: "review", resumable: true, reasons: [] });
  await expectReady(api, number);
}

async function expectAgain(number: number): Promise<void> {
  expect(await api.item(number)).toMatchObject({ role: "review", resumable: false, reasons: [] });
  await expectReady(api, number);
}

/** Reads are spaced: what moved is read again after a minute. */
const aMinute = async (): Promise<void> => {
  await stories.pass(61);
  await world.settled();
};

describe("a pull request that can be merged now", () => {
  it("makes its item resumable: first, whatever else is urgent, in the ready set and for claim-next", async () => {
    const urgent = await readyItem(["backlog", "P0"]);
    const { number, pull } = await itemWithPull();
    await expectResumable(number);
    expect((await readyNumbers(api))[0]).toBe(number);
    const answer = await api.repo("POST", "/claim-next", { body: { owner: "worker/next" } });
    expect(answer).toMatchObject({ granted: true, number });
    // Nobody had it before; its pull request is handed over all the same.
    expect(answer).toMatchObject({
      previous: null,
      resume: { pullRequest: { number: pull, checks: "green" }, lastLocation: null },
    });
    expect(await api.item(number)).toMatchObject({ role: "work", resumable: false });
    await api.release(number, answer.fencingToken);
    await expectResumable(number);
    repo.as("bob").closePull(pull);
    repo.as("alice").close(urgent);
    await world.settled();
  });

  it("without any check: after the minute in which checks may still come", async () => {
    const { number } = await itemWithPull({ checks: "none" });
    await expectInReview(number, /checks/);
    await aMinute();
    await expectResumable(number);
  });

  it("ends with it: merged, the item is complete", async () => {
    const { number, pull } = await itemWithPull();
    repo.as("alice").merge(pull);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: "complete", role: "terminal", resumable: false });
  });
});

describe("a pull request that waits", () => {
  it("for its checks: the item is in review until they are done", async () => {
    const { number, pull } = await itemWithPull({ checks: "none" });
    repo.checkSuite(pull, { status: "in_progress" });
    await aMinute();
    await expectInReview(number, new RegExp(`#${pull} waits for its checks`));
    await expectRefused(api, number, "in_review");
    expect(await api.claim(number, "worker/t", { takeover: true })).toMatchObject({ reason: "in_review" });
    repo.checkSuite(pull, { status: "completed", conclusion: "success" });
    await world.settled();
    await aMinute();
    await expectResumable(number);
  });

  it("for a reviewer: until they have answered", async () => {
    const { number, pull } = await itemWithPull();
    repo.as("bob").requestReview(pull, "tess");
    await world.settled();
    await expectInReview(number, /reviewers/);
    repo.as("tess").review(pull, "approved");
    await world.settled();
    await expectResumable(number);
  });

  it("for the rules of its base: an approval is heard of, and it is read again", async () => {
    const { number, pull } = await itemWithPull({ checks: "none" });
    repo.setMergeability(pull, { mergeable: true, state: "blocked" });
    repo.as("bob").push(`feat/issue-${number}`);
    repo.checkSuite(pull, { status: "completed" });
    await world.settled();
    // Who pushed may write, so that our own check is not what blocks it.
    await aMinute();
    await expectInReview(number, /rules/);
    repo.setMergeability(pull, null);
    repo.as("tess").review(pull, "approved");
    await world.settled();
    await aMinute();
    await expectResumable(number);
  });

  it("for rules that change without an event: they are looked at every ten minutes", async () => {
    const { number, pull } = await itemWithPull();
    repo.setMergeability(pull, { mergeable: true, state: "blocked" });
    repo.as("bob").push(`feat/issue-${number}`);
    repo.checkSuite(pull, { status: "completed" });
    await world.settled();
    await aMinute();
    repo.setMergeability(pull, null);
    await aMinute();
    await expectInReview(number, /rules/);
    await stories.pass(600);
    await world.settled();
    await expectResumable(number);
  });

  it("for GitHub, which works out later whether it can be merged", async () => {
    const number = await readyItem();
    repo.as("bob").push(`feat/issue-${number}`);
    await world.settled();
    world.github.hold();
    const pull = repo.as("bob").openPull({ head: `feat/issue-${number}` });
    repo.setMergeability(pull, { mergeable: null, state: "unknown" });
    repo.checkSuite(pull, { status: "completed" });
    world.github.release();
    await world.settled();
    await expectInReview(number, /GitHub has not said yet/);
    repo.setMergeability(pull, { mergeable: true, state: "clean" });
    await stories.pass(10);
    await world.settled();
    await expectResumable(number);
  });

  it("is not parked meanwhile, however many attempts there were; nor when its last attempt is released", async () => {
    const number = await readyItem();
    const tokens: number[] = [];
    for (const owner of ["w1", "w2", "w3"]) {
      if (tokens.length > 0) await stories.pass(31);
      tokens.push((await granted(api, number, owner)).fencingToken);
    }
    const pull = repo.as("bob").openPull({ head: `feat/issue-${number}` });
    repo.checkSuite(pull, { status: "in_progress" });
    await world.settled();
    await api.release(number, tokens[2] ?? 0);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: null, role: "review" });
    expect(ownComments(repo, number).some((body) => body.includes("result=released"))).toBe(true);
    await world.sweep();
    expect(await api.item(number)).toMatchObject({ state: null, role: "review" });
    await expectRefused(api, number, "in_review");
    repo.checkSuite(pull, { status: "completed", conclusion: "failure" });
    await world.settled();
    await world.sweep();
    expect(await api.item(number)).toMatchObject({ state: "parked" });
  });

  it("leaves its live holder at work", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "holder");
    const pull = repo.as("bob").openPull({ head: `feat/issue-${number}` });
    repo.checkSuite(pull, { status: "in_progress" });
    await world.settled();
    expect(await api.item(number)).toMatchObject({ role: "work" });
    expect(await reasons(number)).toEqual(["contended"]);
    expect(await api.renew(number, fencingToken)).toMatchObject({ granted: true });
    await api.release(number, fencingToken);
    // The same owner is stopped, too.
    expect(await api.claim(number, "holder")).toMatchObject({ granted: false, reason: "in_review" });
  });

  it("is told by the verdict: nothing starves", async () => {
    const other = world.github.repository("acme/quiet", { collaborators: { alice: "admin" } });
    await world.install(other);
    const number = other.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
    const pull = other.as("alice").openPull({ head: `feat/issue-${number}` });
    other.checkSuite(pull, { status: "in_progress" });
    await world.settled();
    const set = await api.with({ repo: "acme/quiet" }).ready();
    expect(set).toMatchObject({ verdict: "waiting", pending: 1, ready: [] });
    expect(set.waiting).toEqual([{ number, reasons: [expect.objectContaining({ reason: "in_review" })] }]);
  });
});

describe("ready again", () => {
  it("changes requested, until the critic is asked once more or dismissed", async () => {
    const { number, pull } = await itemWithPull();
    const bob = repo.as("bob");
    repo.as("alice").review(pull, "changes_requested");
    await world.settled();
    await expectAgain(number);
    bob.requestReview(pull, "alice");
    await world.settled();
    await expectInReview(number, /reviewers/);
    stories.later(2);
    repo.as("alice").review(pull, "changes_requested");
    await world.settled();
    await expectAgain(number);
    bob.review(pull, "dismissed");
    await world.settled();
    await expectResumable(number);
  });

  it("a passer-by's verdict changes nothing", async () => {
    const { number, pull } = await itemWithPull();
    repo.as("mallory").review(pull, "changes_requested");
    await world.settled();
    await expectResumable(number);
  });

  it("red checks", async () => {
    const { number, pull } = await itemWithPull({ checks: "failure" });
    await expectAgain(number);
    const answer = await granted(api, number, "worker/red");
    expect(answer).toMatchObject({ resume: { pullRequest: { number: pull, checks: "red" } } });
  });

  it("a conflict that a push to the base makes, of which GitHub tells nobody", async () => {
    const { number, pull } = await itemWithPull();
    await expectResumable(number);
    repo.setMergeability(pull, { mergeable: false, state: "dirty" });
    repo.as("alice").push("main", { files: ["work/shared.txt"] });
    await world.settled();
    await aMinute();
    await expectAgain(number);
  });

  it("many pushes to the base read a pull request once a minute", async () => {
    const { number, pull } = await itemWithPull();
    await aMinute();
    const reads = () => world.github.requestsTo("GET", `/repos/acme/widgets/pulls/${pull}`).length;
    const before = reads();
    for (let push = 0; push < 5; push += 1) {
      repo.as("alice").push("main", { files: [`work/${push}.txt`] });
      await world.settled();
    }
    await aMinute();
    expect(reads() - before).toBeLessThanOrEqual(2);
    expect(reads() - before).toBeGreaterThan(0);
    await expectResumable(number);
  });

  it("a draft: its author says that it is not done", async () => {
    const { number, pull } = await itemWithPull({ draft: true });
    await expectAgain(number);
    repo.as("bob").readyForReview(pull);
    await world.settled();
    await expectResumable(number);
    repo.as("bob").convertToDraft(pull);
    await world.settled();
    await expectAgain(number);
  });

  it("a close; and what is opened again counts again", async () => {
    const { number, pull } = await itemWithPull();
    repo.as("bob").closePull(pull);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ role: "queue", resumable: false, reasons: [] });
    // The pull request that went away is named, not the item.
    expect((await api.repo("GET", `/items/${number}/transitions`)).transitions[0]).toMatchObject({
      trigger: "review",
      actor: `#${pull}`,
      from: "review",
      to: "queue",
    });
    repo.as("bob").reopenPull(pull);
    await world.settled();
    await expectResumable(number);
    expect((await api.repo("GET", `/items/${number}/transitions`)).transitions[0]).toMatchObject({
      trigger: "review",
      actor: `#${pull}`,
      from: "queue",
      to: "review",
    });
  });
});

describe("whose pull request it is", () => {
  it("a stranger's that names the item changes nothing", async () => {
    const number = await readyItem();
    repo.as("mallory").openPull({ head: "patch", fork: true, body: `Closes #${number}` });
    await world.settled();
    await aMinute();
    expect(await api.item(number)).toMatchObject({ role: "queue", resumable: false });
  });

  it("one that names the item is; one that names it no more is not", async () => {
    const number = await readyItem();
    const pull = repo.as("bob").openPull({ head: `topic-${number}`, body: `Closes #${number}` });
    repo.checkSuite(pull, { status: "completed" });
    await world.settled();
    await expectResumable(number);
    repo.as("bob").editPull(pull, { body: "Nothing in particular." });
    await world.settled();
    expect(await api.item(number)).toMatchObject({ role: "queue", resumable: false });
  });

  it("one that the holder records is", async () => {
    const number = await readyItem();
    const pull = repo.as("bob").openPull({ head: `odd-name-${number}` });
    repo.checkSuite(pull, { status: "completed" });
    const { fencingToken } = await granted(api, number, "w");
    await api.repo("PATCH", `/items/${number}`, {
      fence: fencingToken,
      body: { resume: { lastLocation: { pullRequest: pull } } },
    });
    await world.settled();
    await api.release(number, fencingToken);
    await expectResumable(number);
  });

  it("one from the branch that the holder records is, whichever comes first", async () => {
    for (const order of ["the note", "the pull request"]) {
      const number = await readyItem();
      const head = `odd-place-${number}`;
      const open = () => repo.as("bob").openPull({ head });
      const pull = order === "the note" ? null : open();
      const { fencingToken } = await granted(api, number, "w");
      const resume = { lastLocation: { branch: head } };
      await api.repo("PATCH", `/items/${number}`, { fence: fencingToken, body: { resume } });
      repo.checkSuite(pull ?? open(), { status: "completed" });
      await world.settled();
      await api.release(number, fencingToken);
      await expectResumable(number);
    }
  });

  it("one that was opened under a claim shows in the roles that the claims came from and ended in", async () => {
    const number = await readyItem();
    const first = await granted(api, number, "w/1");
    const pull = repo.as("bob").openPull({ head: `feat/issue-${number}` });
    repo.checkSuite(pull, { status: "completed" });
    await world.settled();
    await api.release(number, first.fencingToken);
    const second = await granted(api, number, "w/2");
    await api.release(number, second.fencingToken);
    repo.as("bob").closePull(pull);
    await world.settled();
    const third = await granted(api, number, "w/3");
    const { transitions } = await api.repo("GET", `/items/${number}/transitions`);
    const told = transitions.map(
      (each: { trigger: string; from: string; to: string; fencingToken: number }) => [
        each.trigger,
        each.from,
        each.to,
        each.fencingToken,
      ],
    );
    expect(told.toReversed()).toEqual([
      ["start", "queue", "work", first.fencingToken],
      ["release", "work", "review", first.fencingToken],
      ["start", "review", "work", second.fencingToken],
      ["release", "work", "review", second.fencingToken],
      ["review", "review", "queue", null],
      ["start", "queue", "work", third.fencingToken],
    ]);
  });

  it("one that was there before its issue became an item is", async () => {
    const number = repo.as("alice").openIssue({ title: "Later" });
    const pull = repo.as("bob").openPull({ head: `feat/issue-${number}` });
    repo.checkSuite(pull, { status: "completed" });
    await world.settled();
    await aMinute();
    expect(world.github.requestsTo("GET", `/repos/acme/widgets/pulls/${pull}`)).toEqual([]);
    repo.as("alice").label(number, "backlog");
    await world.settled();
    await expectResumable(number);
  });

  it("the best of several counts", async () => {
    const { number, pull } = await itemWithPull();
    const other = repo.as("bob").openPull({ head: `more-${number}`, body: `Fixes #${number}`, draft: true });
    await world.settled();
    await expectResumable(number);
    repo.as("bob").closePull(pull);
    await world.settled();
    await expectAgain(number);
    repo.as("bob").closePull(other);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ role: "queue" });
  });
});

describe("what was there before the App", () => {
  it("is read whole: reviews, checks, whether it can be merged", async () => {
    const old = world.github.repository("acme/old", { collaborators: { alice: "admin", bob: "write" } });
    const make = () => {
      const number = old.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
      const pull = old.as("bob").openPull({ head: `feat/issue-${number}` });
      old.checkSuite(pull, { status: "completed" });
      return { number, pull };
    };
    const [good, judged, asked, clashing, silent] = [make(), make(), make(), make(), make()];
    old.as("alice").review(judged.pull, "changes_requested");
    old.as("bob").requestReview(asked.pull, "alice");
    old.setMergeability(clashing.pull, { mergeable: false, state: "dirty" });
    old.checkSuite(silent.pull, { status: "in_progress", app: "slow-ci" });
    await world.install(old);
    const there = api.with({ repo: "acme/old" });
    const found = async ({ number }: { number: number }) => {
      const { resumable, reasons: why } = await there.item(number);
      return resumable ? "resumable" : (why[0]?.reason ?? "again");
    };
    expect(await Promise.all([good, judged, asked, clashing, silent].map(found))).toEqual([
      "resumable",
      "again",
      "in_review",
      "again",
      "in_review",
    ]);
    // The pull request, its checks, its reviews: three requests each, once.
    expect(world.github.requestsTo("GET", /^\/repos\/acme\/old\/pulls\/\d+$/)).toHaveLength(5);
    expect(world.github.requestsTo("GET", /^\/repos\/acme\/old\/pulls\/\d+\/reviews/)).toHaveLength(5);
  });
});

it("a pull request that was closed while the App was suspended is heard of when it comes back", async () => {
  const { number, pull } = await itemWithPull();
  await expectResumable(number);
  world.github.suspend("acme");
  repo.as("bob").closePull(pull);
  world.github.unsuspend("acme");
  await world.settled();
  expect(await api.item(number)).toMatchObject({ role: "queue", resumable: false });
});

it("GitHub being away puts readings off, and forgets none", async () => {
  const number = await readyItem();
  repo.as("bob").push(`feat/issue-${number}`);
  await world.settled();
  world.github.fault({ path: /\/pulls\/\d+$/, kind: "status", status: 503, times: 2 });
  const pull = repo.as("bob").openPull({ head: `feat/issue-${number}` });
  repo.checkSuite(pull, { status: "completed" });
  await world.settled();
  await expectInReview(number, /GitHub has not said yet/);
  await stories.pass(20);
  await world.settled();
  await stories.pass(20);
  await world.settled();
  await expectResumable(number);
});
