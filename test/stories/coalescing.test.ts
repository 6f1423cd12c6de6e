/** GitHub is told as little as does: one request for several labels, none for what is undone, checks once. */

import { afterAll, beforeAll, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { down, GATE, granted, labelWrites, OWN_BOT, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
});
afterAll(() => world.end());

let made = 0;
async function repository(): Promise<FakeRepository> {
  made += 1;
  return world.repository(`coalescing-${made}/widgets`);
}
const apiOf = (repo: FakeRepository): ApiClient => world.api.with({ repo: repo.fullName });
const labelsOf = (repo: FakeRepository, number: number): string[] => [...repo.issue(number).labels].sort();

/** Something happens on GitHub, in a second of its own. */
async function happens<T>(change: () => T): Promise<T> {
  stories.later();
  const result = change();
  await world.settled();
  return result;
}

const RENAMED = "labels: {backlog: work, needs-specification: draft}\n";

it("two labels of one issue are one request", async () => {
  const repo = await repository();
  const number = await happens(() => repo.as("rita").openIssue({ title: "Work", labels: ["backlog"] }));
  expect(labelsOf(repo, number)).toEqual(["backlog", GATE]);
  const before = labelWrites(world, repo, number);
  const path = `/repos/${repo.fullName}/issues/${number}/labels`;
  // Promised together: the first try waits until both are.
  down(world, path);
  await happens(() => repo.as("alice").push("main", { files: { ".github/leasehold.yml": RENAMED } }));
  world.github.clearFaults();
  await world.db
    .updateTable("outbox")
    .set({ attempts: 0, next_try_at: new Date(0) })
    .where("repository_id", "=", repo.id)
    .where("state", "=", "pending")
    .execute();
  const tried = labelWrites(world, repo, number) - before;
  world.app.deps.wake.outbox();
  await world.settled();
  expect(labelsOf(repo, number)).toEqual(["backlog", "draft", GATE, "work"]);
  expect(labelWrites(world, repo, number) - before - tried).toBe(1);
  expect(world.github.requestsTo("POST", path).at(-1)?.body).toEqual({
    labels: expect.arrayContaining(["draft", "work"]),
  });
});

it("a label that GitHub refuses takes no other with it", async () => {
  world.expectError(/refuses what was promised|outbox: /);
  const repo = await repository();
  const number = await happens(() => repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] }));
  const path = `/repos/${repo.fullName}/issues/${number}/labels`;
  world.github.fault({ method: "POST", path, kind: "status", status: 422, times: 2 });
  const promised = ["first", "second"].map((label) => ({
    repository_id: repo.id,
    issue_number: number,
    kind: "add_label",
    promise: `label:${number}:${label}`,
    payload: JSON.stringify({ label }),
  }));
  await world.db.insertInto("outbox").values(promised).execute();
  world.app.deps.wake.outbox();
  await world.settled();
  await stories.pass(2);
  await world.settled();
  // Both together, the first alone, the second alone.
  expect(world.github.requestsTo("POST", path).map(({ body }) => body)).toEqual([
    { labels: ["first", "second"] },
    { labels: ["first"] },
    { labels: ["second"] },
  ]);
  expect(labelsOf(repo, number)).toEqual(["backlog", "second"]);
});

it("a label that was wanted and is not any more, before it was written, is not written at all", async () => {
  const repo = await repository();
  const number = await happens(() => repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] }));
  down(world, `/repos/${repo.fullName}/issues/${number}/labels`);
  await happens(() => repo.as("rita").editIssue(number, { body: "Do something else" }));
  expect((await apiOf(repo).item(number)).admitted).toBe(false);
  await happens(() => repo.as("alice").label(number, GATE));
  await happens(() => repo.as("alice").unlabel(number, GATE));
  expect((await apiOf(repo).item(number)).admitted).toBe(true);
  world.github.clearFaults();
  await stories.pass(60);
  await world.settled();
  expect(labelsOf(repo, number)).toEqual(["backlog"]);
  expect(repo.events(number).filter(({ event, actor }) => event === "labeled" && actor === OWN_BOT)).toEqual(
    [],
  );
});

it("a check is written for the newest head, once, however often it was asked for meanwhile", async () => {
  const repo = await repository();
  const api = apiOf(repo);
  const number = await happens(() => repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] }));
  const { fencingToken } = await granted(api, number, "w1");
  const checks = new RegExp(`^/repos/${repo.fullName}/check-runs`);
  down(world, checks);
  const heads = [repo.as("worker[bot]").push(`feat/issue-${number}`)];
  await happens(() => repo.as("alice").openPull({ head: `feat/issue-${number}` }));
  for (let push = 0; push < 2; push += 1) {
    const head = await happens(() => repo.as("worker[bot]").push(`feat/issue-${number}`));
    heads.push(head);
    const body = { resume: { lastLocation: { sha: head } } };
    await api.repo("PATCH", `/items/${number}`, { fence: fencingToken, body });
    await world.settled();
  }
  world.github.clearFaults();
  const before = world.github.requestsTo("POST", checks).length;
  await stories.pass(60);
  await world.settled();
  const written = world.github.requestsTo("POST", checks).slice(before);
  expect(written.map(({ body }) => (body as { head_sha: string }).head_sha)).toEqual([heads.at(-1)]);
  expect(repo.checkRuns(heads.at(-1) ?? "")).toEqual([expect.objectContaining({ conclusion: "success" })]);
  expect(repo.checkRuns(heads[1] ?? "")).toEqual([]);
}, 120_000);

it("row 23: what the App itself did comes back as an event, and causes nothing", async () => {
  const repo = await repository();
  const number = await happens(() => repo.as("rita").openIssue({ title: "Work", labels: ["backlog"] }));
  const own = world.github.deliveries.filter(
    ({ action, payload }) => action === "labeled" && payload.includes(`"login":"${OWN_BOT}"`),
  );
  expect(own.length).toBeGreaterThan(0);
  const writes = () => world.github.requests.filter(({ method }) => method !== "GET").length;
  const before = writes();
  // And once more, under other ids, as from a second hook.
  for (const { event, payload } of own) await world.github.deliver({ event, payload });
  await world.settled();
  expect(writes()).toBe(before);
  expect(labelsOf(repo, number)).toEqual(["backlog", GATE]);
});
