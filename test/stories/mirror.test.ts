/** The mirror (protocol 1): what GitHub says, in whatever order it says it. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  defectsOf,
  expectNotReady,
  expectReady,
  expectRefused,
  GATE,
  granted,
  intercept,
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
  repo = await world.repository();
});
afterAll(() => world.end());

async function openIssue(...labels: string[]): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "As opened", body: "First.", labels });
  await world.settled();
  stories.later();
  return number;
}

async function mirrored(number: number, where = repo) {
  const row = await world.db
    .selectFrom("issue")
    .selectAll()
    .where("repository_id", "=", where.id)
    .where("number", "=", number)
    .executeTakeFirstOrThrow();
  return {
    id: row.id,
    title: row.title,
    body: row.body,
    state: row.state,
    stateReason: row.state_reason,
    labels: row.labels.toSorted(),
    assignees: row.assignees.toSorted(),
    locked: row.locked,
    milestone: row.milestone,
    gone: row.gone,
  };
}

/** The mirror is what GitHub has. */
async function expectMirrored(number: number): Promise<void> {
  const { id, title, body, state, stateReason, labels, assignees, locked } = repo.issue(number);
  expect(await mirrored(number)).toEqual({
    id,
    title,
    body,
    state,
    stateReason,
    labels: labels.toSorted(),
    assignees: assignees.toSorted(),
    locked,
    milestone: null,
    gone: null,
  });
}

/** A shuffle that is the same every time. */
function shuffled(length: number, seed: number): number[] {
  let state = seed;
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
  return Array.from({ length }, (_, index) => ({ index, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ index }) => index);
}

const held = (): number => world.github.deliveries.filter(({ status }) => status === "queued").length;

describe("an issue", () => {
  it("[16] is mirrored with ids beyond 32 bits", async () => {
    const number = await openIssue("question");
    expect(repo.issue(number).id).toBeGreaterThan(2 ** 31);
    await expectMirrored(number);
  });

  it("[27] is mirrored in all that people do to it, which touches neither gate nor attempts", async () => {
    const number = await openIssue("backlog");
    const alice = repo.as("alice");
    alice.editIssue(number, { title: "Renamed", body: null });
    alice.assign(number, "tess");
    alice.assign(number, "carol");
    alice.unassign(number, "tess");
    alice.lock(number);
    alice.label(number, "question");
    await world.settled();
    await expectMirrored(number);
    await expectReady(api, number);
    expect((await api.item(number)).attempts).toMatchObject({ grants: 0, markers: 0 });
  });

  it("[27] is mirrored with its milestone, and without it again", async () => {
    const number = await openIssue("backlog");
    const payload = intercept(world, () => repo.as("alice").editIssue(number, { title: "Dated" }));
    payload.action = "milestoned";
    payload.issue.milestone = { title: "1.0" };
    await world.github.deliver({ event: "issues", payload });
    await world.settled();
    expect(await mirrored(number)).toMatchObject({ milestone: "1.0" });
    payload.action = "demilestoned";
    payload.issue.milestone = null;
    await world.github.deliver({ event: "issues", payload });
    await world.settled();
    expect(await mirrored(number)).toMatchObject({ milestone: null });
    await expectReady(api, number);
  });

  it.each([1, 2, 3, 4])("ends as GitHub has it when its news is shuffled (%i)", async (seed) => {
    world.github.hold();
    const alice = repo.as("alice");
    const number = alice.openIssue({ title: "As opened", body: "First.", labels: ["question"] });
    const changes = [
      () => alice.label(number, "backlog"),
      () => alice.editIssue(number, { title: "Second" }),
      () => alice.label(number, GATE),
      () => alice.unlabel(number, "question"),
      () => alice.assign(number, "tess"),
      () => alice.close(number, "not_planned"),
      () => alice.editIssue(number, { body: "Third." }),
      () => alice.reopen(number),
      () => alice.unlabel(number, GATE),
      () => alice.unassign(number, "tess"),
      () => alice.label(number, "P1"),
      () => alice.lock(number),
    ];
    for (const change of changes) {
      stories.later();
      change();
    }
    world.github.release({ order: shuffled(held(), seed) });
    await world.settled();
    await expectMirrored(number);
    expect(await api.item(number)).toMatchObject({ state: null, priority: "P1", admitted: true });
  });

  it.each([1, 2, 3])("ends as GitHub has it when all happens within one second (%i)", async (seed) => {
    const number = await openIssue();
    world.github.hold();
    const alice = repo.as("alice");
    alice.label(number, "backlog", "question", "P3");
    alice.assign(number, "tess");
    alice.editIssue(number, { title: "Second" });
    alice.lock(number);
    alice.close(number, "not_planned");
    world.github.release({ order: shuffled(held(), seed) });
    await world.settled();
    await expectMirrored(number);
  });

  it("[4] keeps the label of an event that comes before the opening, which knows of no label", async () => {
    const opened = intercept(world, () => repo.as("alice").openIssue({ title: "Bare" }));
    const { number } = opened.issue;
    const labeled = intercept(world, () => repo.as("alice").label(number, "question"));
    await world.github.deliver({ event: "issues", payload: labeled });
    await world.github.deliver({ event: "issues", payload: opened });
    await world.settled();
    await expectMirrored(number);
  });

  it("[5] loses a label by the event's word, though the snapshot still has it", async () => {
    const number = await openIssue("question");
    const payload = intercept(world, () => repo.as("alice").unlabel(number, "question"));
    payload.issue.labels.push({ id: 5, name: "question" });
    await world.github.deliver({ event: "issues", payload });
    await world.settled();
    expect((await mirrored(number)).labels).toEqual([]);
  });

  it("[5] is not set back by an older snapshot", async () => {
    const number = await openIssue();
    const older = intercept(world, () => repo.as("alice").editIssue(number, { title: "Older" }));
    stories.later();
    repo.as("alice").editIssue(number, { title: "Newer", body: "Newer." });
    await world.settled();
    await world.github.deliver({ event: "issues", payload: older });
    await world.settled();
    await expectMirrored(number);
  });

  it("is known from a comment on it, if nothing else was heard", async () => {
    const number = world.github.silently(() => repo.as("alice").openIssue({ title: "Unheard" }));
    repo.as("tess").comment(number, "Look at this.");
    await world.settled();
    await expectMirrored(number);
  });

  it("[13] may be a ghost's", async () => {
    world.github.deleteUser("phantom");
    const number = repo.as("phantom").openIssue({ title: "Boo", labels: ["backlog"] });
    repo.as("phantom").comment(number, "Boo again");
    await world.settled();
    expect(await api.item(number)).toMatchObject({ author: null, admitted: false });
  });
});

describe("an issue that is gone", () => {
  it("[29] deleted, leaves a tombstone: cancelled, never complete, and what comes late revives nothing", async () => {
    const [number, dependent] = [await openIssue("backlog"), await openIssue("backlog")];
    await api.block(dependent, number);
    const { fencingToken } = await granted(api, number, "worker/a");
    const comment = intercept(world, () => repo.as("tess").comment(number, "Still there?"));
    stories.later();
    repo.as("alice").deleteIssue(number);
    await world.settled();
    await world.github.deliver({ event: "issue_comment", payload: comment });
    await world.github.deliver({ event: "issue_comment", payload: { ...comment, action: "edited" } });
    await world.settled();

    expect(await mirrored(number)).toMatchObject({ gone: "deleted" });
    expect(await api.item(number)).toMatchObject({ state: "cancelled" });
    await expectRefused(api, number, "closed");
    expect(await api.renew(number, fencingToken)).toMatchObject({ granted: false });
    expect(await defectsOf(api, dependent)).toEqual(["stalled_blocker"]);
  });

  it("[29] is not brought back by its own older news", async () => {
    const number = await openIssue("backlog");
    world.github.hold();
    repo.as("alice").editIssue(number, { title: "Last words" });
    stories.later();
    repo.as("alice").deleteIssue(number);
    world.github.release({ order: "reverse" });
    await world.settled();
    expect(await mirrored(number)).toMatchObject({ gone: "deleted" });
    await expectNotReady(api, number);
  });

  it("[28] transferred to where the App is not, is only cancelled", async () => {
    const target = world.github.repository("acme/unknown", { collaborators: { alice: "admin" } });
    const number = await openIssue("backlog");
    repo.as("alice").transfer(number, target);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: "cancelled" });
    expect((await api.with({ repo: "acme/unknown" }).tryRepo("GET", "/ready")).status).toBe(404);
  });
});

describe("pull requests", () => {
  const pullRow = (number: number) =>
    world.db
      .selectFrom("pull_request")
      .select(["state", "draft", "base_ref", "head_ref", "head_sha", "merged_at", "title"])
      .where("repository_id", "=", repo.id)
      .where("number", "=", number)
      .executeTakeFirstOrThrow();

  it("are mirrored with their branches, drafts and heads", async () => {
    const alice = repo.as("alice");
    alice.createBranch("dev");
    const number = alice.openPull({ head: "topic/mirrored", title: "One", draft: true });
    alice.push("topic/mirrored");
    alice.readyForReview(number);
    alice.editPull(number, { title: "Two", base: "dev" });
    await world.settled();
    expect(await pullRow(number)).toEqual({
      state: "open",
      draft: false,
      base_ref: "dev",
      head_ref: "topic/mirrored",
      head_sha: repo.pull(number).headSha,
      merged_at: null,
      title: "Two",
    });
  });

  it("[33] stay merged, whatever an odd snapshot says later", async () => {
    const alice = repo.as("alice");
    const number = alice.openPull({ head: "topic/merged" });
    alice.merge(number);
    await world.settled();
    stories.later();
    const odd = intercept(world, () => alice.editPull(number, { title: "Odd" }));
    Object.assign(odd.pull_request, { state: "open", merged: false, merged_at: null });
    await world.github.deliver({ event: "pull_request", payload: odd });
    await world.settled();
    expect((await pullRow(number)).merged_at).not.toBeNull();
  });

  it("are mirrored with their reviews, of which a dismissed one stays dismissed", async () => {
    const number = repo.as("alice").openPull({ head: "topic/reviewed" });
    await world.settled();
    const stateOf = (id: number) =>
      world.db.selectFrom("pull_request_review").select(["state", "reviewer_login"]).where("id", "=", id);
    const id = repo.as("tess").review(number, "approved");
    await world.settled();
    expect(await stateOf(id).execute()).toEqual([{ state: "approved", reviewer_login: "tess" }]);

    world.github.hold();
    const second = repo.as("tess").review(number, "changes_requested");
    repo.as("alice").review(number, "dismissed");
    world.github.release({ order: "reverse" });
    await world.settled();
    expect(await stateOf(second).execute()).toEqual([{ state: "dismissed", reviewer_login: "tess" }]);
  });

  it("have their check suites mirrored, the newest word counting", async () => {
    const sha = repo.as("alice").push("topic/checked");
    repo.checkSuite(sha, { status: "queued" });
    stories.later();
    world.github.hold();
    repo.checkSuite(sha, { status: "in_progress" });
    stories.later();
    repo.checkSuite(sha, { status: "completed", conclusion: "failure" });
    world.github.release({ order: shuffled(held(), 3) });
    await world.settled();
    const rows = await world.db
      .selectFrom("check_suite")
      .select(["status", "conclusion", "app_slug"])
      .where("head_sha", "=", sha)
      .where("app_slug", "=", "ci")
      .execute();
    expect(rows).toEqual([{ status: "completed", conclusion: "failure", app_slug: "ci" }]);
  });
});

describe("branches", () => {
  const heads = async () => {
    const rows = await world.db
      .selectFrom("branch")
      .select(["name", "head_sha", "pusher_login"])
      .where("repository_id", "=", repo.id)
      .execute();
    return new Map(rows.map(({ name, head_sha, pusher_login }) => [name, [head_sha, pusher_login]]));
  };

  it("are mirrored with who pushed, the newest push counting, until they are deleted", async () => {
    const tess = repo.as("tess");
    tess.push("topic/pushed");
    stories.later();
    world.github.hold();
    tess.push("topic/pushed");
    stories.later();
    const sha = tess.push("topic/pushed");
    world.github.release({ order: "reverse" });
    await world.settled();
    expect((await heads()).get("topic/pushed")).toEqual([sha, "tess"]);
    stories.later();
    repo.as("alice").deleteBranch("topic/pushed");
    await world.settled();
    expect((await heads()).get("topic/pushed")).toEqual([null, "alice"]);
  });

  it("[67] are neither tags nor the merge queue's refs", async () => {
    repo.as("alice").pushTags("v1");
    repo.as("alice").createBranch("topic/doomed");
    await world.settled();
    world.github.hold();
    repo.as("alice").deleteBranch("topic/doomed");
    const push = JSON.parse(world.github.drop().find(({ event }) => event === "push")?.payload ?? "null");
    world.github.release();
    Object.assign(push, { deleted: false, after: push.before });
    push.ref = "refs/heads/gh-readonly-queue/main/pr-1-x";
    await world.github.deliver({ event: "push", payload: push });
    await world.settled();
    const names = [...(await heads()).keys()];
    expect(names.filter((name) => /v1|v2|queue/.test(name))).toEqual([]);
  });
});

describe("label definitions", () => {
  it("are mirrored: made, changed and deleted", async () => {
    const alice = repo.as("alice");
    const names = async () =>
      (await world.db.selectFrom("label").select("name").where("repository_id", "=", repo.id).execute()).map(
        ({ name }) => name,
      );
    alice.createLabel("area/a");
    await world.settled();
    expect(await names()).toEqual(expect.arrayContaining(["backlog", GATE, "stale", "area/a"]));
    alice.renameLabel("area/a", "area/b");
    await world.settled();
    expect(await names()).toContain("area/b");
    expect(await names()).not.toContain("area/a");
    alice.deleteLabel("area/b");
    await world.settled();
    expect(await names()).not.toContain("area/b");
  });

  it("[18] renamed are renamed on the issues, of which GitHub says nothing", async () => {
    const number = await openIssue("area/old");
    repo.as("alice").renameLabel("area/old", "area/new");
    await world.settled();
    expect((await mirrored(number)).labels).toEqual(["area/new"]);
  });
});
