/** The check run `leasehold/claim` on an item's own pull requests (protocol 8). */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { World } from "../harness/world.ts";
import { GATE, granted, STALE, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let api: ApiClient;
let repo: FakeRepository;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository("acme/widgets", { bob: "write", robot: "write" });
});
afterAll(() => world.end());

/** A worker that is not a human: what it pushes vouches for nothing. */
const WORKER = "worker[bot]";

async function readyItem(): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  return number;
}

/** A worker claims, pushes and opens a pull request. */
async function workedItem(owner = "w1") {
  const number = await readyItem();
  const { fencingToken } = await granted(api, number, owner);
  const sha = repo.as(WORKER).push(`feat/issue-${number}`);
  const pull = repo.as("bob").openPull({ head: `feat/issue-${number}` });
  await world.settled();
  return { number, pull, sha, fencingToken };
}

async function record(number: number, fence: number, sha: string): Promise<void> {
  await api.repo("PATCH", `/items/${number}`, { fence, body: { resume: { lastLocation: { sha } } } });
  await world.settled();
}

const checks = (at: string | number) => repo.checkRuns(at).filter(({ name }) => name === "leasehold/claim");

/** The one claim check on a head. */
function expectCheck(at: string | number, conclusion: "success" | "failure", title: RegExp): void {
  expect(checks(at)).toEqual([
    expect.objectContaining({
      app: "leasehold",
      status: "completed",
      conclusion,
      title: expect.stringMatching(title),
    }),
  ]);
}

const checkWrites = (): number =>
  world.github.requestsTo("POST", /\/check-runs$/).length +
  world.github.requestsTo("PATCH", /\/check-runs\/\d+$/).length;

describe("the claim check", () => {
  it("fails until the holder records the head, and succeeds from then on", async () => {
    const { number, pull, sha, fencingToken } = await workedItem();
    expectCheck(pull, "failure", /not recorded/);
    const [{ summary } = { summary: "" }] = checks(pull);
    expect(summary).toMatch(/lastLocation\.sha/);
    await record(number, fencingToken, sha);
    expectCheck(pull, "success", /Recorded under the latest claim/);
    await api.release(number, fencingToken);
    await world.settled();
    expectCheck(pull, "success", /Recorded/);
  });

  it("follows the head: what is pushed after was not recorded", async () => {
    const { number, pull, sha, fencingToken } = await workedItem();
    await record(number, fencingToken, sha);
    const next = repo.as(WORKER).push(`feat/issue-${number}`);
    await world.settled();
    expectCheck(sha, "success", /Recorded/);
    expectCheck(next, "failure", /not recorded/);
    await record(number, fencingToken, next.slice(0, 9));
    expectCheck(pull, "success", /Recorded/);
  });

  it("fails once another claim was granted, whatever note its holder writes; and names no owner", async () => {
    const { number, pull, sha, fencingToken } = await workedItem("slow/worker");
    await record(number, fencingToken, sha);
    // Long enough that its work counts as moving no more.
    await stories.pass(3700);
    await world.settled();
    const next = await granted(api, number, "quick/worker");
    await world.settled();
    expectCheck(pull, "failure", /Superseded/);
    expect(JSON.stringify(checks(pull))).not.toMatch(/slow\/worker|quick\/worker/);
    await api.repo("PATCH", `/items/${number}`, {
      fence: next.fencingToken,
      body: { resume: { resumeNote: "I have a look at what is there." } },
    });
    await world.settled();
    expectCheck(pull, "failure", /Superseded/);
    await record(number, next.fencingToken, sha);
    expectCheck(pull, "success", /Recorded/);
  });

  it("succeeds when a human with write access pushed the head", async () => {
    const { number, pull } = await workedItem();
    expectCheck(pull, "failure", /not recorded/);
    repo.as("bob").push(`feat/issue-${number}`);
    await world.settled();
    expectCheck(pull, "success", /human/);
    repo.as(WORKER).push(`feat/issue-${number}`);
    await world.settled();
    expectCheck(pull, "failure", /not recorded/);
  });

  it("fails while the item is parked, and recovers when a human unparks it", async () => {
    const { number, pull, sha, fencingToken } = await workedItem();
    await record(number, fencingToken, sha);
    await api.repo("POST", `/items/${number}/park`, {
      fence: fencingToken,
      body: { reason: "two readings", rulingOwner: "alice", question: "Which of both?" },
    });
    await world.settled();
    expectCheck(pull, "failure", /parked/);
    stories.later();
    repo.as("alice").unlabel(number, STALE);
    await world.settled();
    expectCheck(pull, "success", /Recorded/);
  });

  it("fails while admission is withdrawn", async () => {
    const { number, pull, sha, fencingToken } = await workedItem();
    await record(number, fencingToken, sha);
    repo.as("alice").label(number, GATE);
    await world.settled();
    expectCheck(pull, "failure", /not admitted/);
    stories.later();
    repo.as("alice").unlabel(number, GATE);
    await world.settled();
    expectCheck(pull, "success", /Recorded/);
  });

  it("takes what an epic's holder records below", async () => {
    const [epic, part] = [await readyItem(), await readyItem()];
    await api.repo("PATCH", `/items/${part}`, {
      body: { links: { add: { partOf: [`mem/backlog/issue-${epic}`] } } },
    });
    const first = await granted(api, epic, "orchestrator", { scope: "subtree" });
    const sha = repo.as(WORKER).push(`feat/issue-${part}`);
    const pull = repo.as("bob").openPull({ head: `feat/issue-${part}` });
    await world.settled();
    await record(part, first.fencingToken, sha);
    expectCheck(pull, "success", /Recorded/);
    await api.release(epic, first.fencingToken);
    await granted(api, epic, "another", { scope: "subtree" });
    await world.settled();
    expectCheck(pull, "failure", /Superseded/);
  });

  it("is on no pull request that is no item's own, and on one as soon as it is", async () => {
    const number = await readyItem();
    const stranger = repo.as("mallory").openPull({ head: "patch", fork: true, body: `Closes #${number}` });
    const aside = repo.as("bob").openPull({ head: `aside-${number}` });
    await world.settled();
    expect([...checks(stranger), ...checks(aside)]).toEqual([]);
    repo.as("bob").editPull(aside, { body: `Closes #${number}` });
    await world.settled();
    expectCheck(aside, "success", /human/);
  });

  it("is written once for what it says: nothing is written when nothing changed", async () => {
    const { number, pull, sha, fencingToken } = await workedItem();
    await record(number, fencingToken, sha);
    const before = checkWrites();
    repo.as("bob").editPull(pull, { title: "Another title" });
    repo.as("bob").editPull(pull, { base: "main" });
    await record(number, fencingToken, sha);
    expect(checkWrites()).toBe(before);
    expect(world.github.requestsTo("GET", /\/collaborators\/worker/)).toEqual([]);
  });

  it("does not count among the checks that the item waits for", async () => {
    const { number, pull, fencingToken } = await workedItem();
    repo.checkSuite(pull, { status: "completed" });
    await api.release(number, fencingToken);
    await world.settled();
    expectCheck(pull, "failure", /not recorded/);
    expect(await api.item(number)).toMatchObject({ resumable: true });
  });

  it("that is required and fails does not keep workers away: only one of them can turn it green", async () => {
    const { number, pull, fencingToken } = await workedItem();
    repo.checkSuite(pull, { status: "completed" });
    repo.setMergeability(pull, { mergeable: true, state: "blocked" });
    await api.release(number, fencingToken);
    await stories.pass(61);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ role: "review", resumable: false, reasons: [] });
    const next = await granted(api, number, "w2");
    await record(number, next.fencingToken, repo.pull(pull).headSha);
    await api.release(number, next.fencingToken);
    expect((await api.item(number)).reasons).toEqual([expect.objectContaining({ reason: "in_review" })]);
  });

  it("is written again when somebody asks for it once more", async () => {
    const { pull } = await workedItem();
    const before = checkWrites();
    const suite = repo.record.checkSuites.findLast(({ app }) => app.slug === "leasehold");
    await world.github.deliver({
      event: "check_suite",
      payload: {
        action: "rerequested",
        check_suite: {
          id: suite?.id,
          head_sha: repo.pull(pull).headSha,
          app: { id: world.github.app.id, slug: "leasehold" },
          updated_at: new Date().toISOString(),
        },
        repository: { id: repo.id, name: "widgets", full_name: "acme/widgets" },
      },
    });
    await world.settled();
    expect(checkWrites()).toBe(before + 1);
    expectCheck(pull, "failure", /not recorded/);
  });

  it("is made once, although GitHub's answer to making it was lost", async () => {
    world.github.fault({ path: /\/check-runs$/, method: "POST", kind: "effect-then-status", status: 502 });
    const { pull } = await workedItem();
    await stories.pass(5);
    await world.settled();
    expectCheck(pull, "failure", /not recorded/);
  });

  it("that changes while it is being written ends up right", async () => {
    const { number, pull, sha, fencingToken } = await workedItem();
    const body = (recorded: string) => ({ resume: { lastLocation: { sha: recorded } } });
    world.github.fault({ path: /\/check-runs\/\d+$/, method: "PATCH", kind: "delay", delayMs: 1000 });
    const writes = () => world.github.requestsTo("PATCH", /\/check-runs\/\d+$/).length;
    const before = writes();
    await api.repo("PATCH", `/items/${number}`, { fence: fencingToken, body: body(sha) });
    await waitFor("the check to be under way", async () => (writes() > before ? null : "not yet"));
    // The facts change, while the write that does not know of it hangs.
    await api.repo("PATCH", `/items/${number}`, { fence: fencingToken, body: body("f".repeat(40)) });
    expectCheck(pull, "failure", /not recorded/);
    await world.settled();
    expect(writes()).toBe(before + 2);
    expectCheck(pull, "failure", /not recorded/);
  });
});
