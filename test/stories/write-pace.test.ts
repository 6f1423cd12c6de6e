/** Row 69: GitHub's pace, kept by all processes together and by every part of them that writes. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { GITHUB_PACE, writePace } from "../../src/domain/write-pace.ts";
import { World } from "../harness/world.ts";
import { claimMarkers, granted } from "./support/stories.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ config: { writePace: writePace(GITHUB_PACE) } });
});
afterAll(() => world.end());

/** What the App wrote, in the order in which it came. */
const writes = () =>
  world.github.requests.filter(({ method, path }) => method !== "GET" && !path.startsWith("/app"));

it("row 69: two processes and a caller who proposes write one at a time, a second apart, and nothing twice", async () => {
  const repo = await world.repository();
  const numbers = ["One", "Two", "Three"].map((title) =>
    repo.as("alice").openIssue({ title, labels: ["backlog"] }),
  );
  await world.settled();
  const replica = await world.secondReplica();
  world.github.fault({
    method: "POST",
    path: /\/(comments|issues)$/,
    kind: "delay",
    delayMs: 300,
    times: 100,
  });
  const [proposed] = await Promise.all([
    world.api.tryRepo("POST", "/items", { body: { title: "Proposed" } }),
    ...numbers.map((number, index) =>
      granted(index % 2 === 0 ? world.api : replica.api, number, `worker/${index}`),
    ),
  ]);
  expect(proposed.status).toBe(201);
  await world.settled();
  await replica.stop();
  for (const number of numbers) expect(claimMarkers(repo, number)).toHaveLength(1);

  const made = writes();
  // Three labels of its own, three markers, and the proposal.
  expect(made.length).toBe(7);
  for (const [index, write] of made.entries()) {
    const before = made[index - 1];
    if (before === undefined) continue;
    expect(
      write.beganMs - (before.endedMs ?? Number.NaN),
      `${before.path} then ${write.path}`,
    ).toBeGreaterThan(990);
  }
}, 60_000);

it("row 69: the pace is kept across a restart", async () => {
  const repo = world.github.existingRepository("acme/widgets");
  const number = repo.as("alice").openIssue({ title: "Later", labels: ["backlog"] });
  await world.settled();
  await world.app.deps.database.pool.query(
    "update installation set next_write_at = db_now() + interval '3 seconds'",
  );
  const from = performance.now();
  await world.restart();
  await granted(world.api, number, "worker/a");
  await world.settled();
  expect(claimMarkers(repo, number)).toHaveLength(1);
  expect((writes().at(-1)?.beganMs ?? 0) - from).toBeGreaterThan(2990);
}, 60_000);

it("row 69: who would have to wait for long is told when to come back, and nothing is sent", async () => {
  await world.app.deps.database.pool.query(
    "update installation set next_write_at = db_now() + interval '40 minutes'",
  );
  const before = writes().length;
  const answer = await world.api.tryRepo("POST", "/items", { body: { title: "Another" } });
  expect(answer).toMatchObject({ status: 502, body: { code: "github_unavailable" } });
  expect(answer.body.retryAfterMs).toBeGreaterThan(39 * 60_000);
  expect(writes()).toHaveLength(before);
});
