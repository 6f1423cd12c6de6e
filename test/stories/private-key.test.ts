/** Row 76: the key is revoked. The alarm is raised, what GitHub sends is kept, and a new key needs no restart. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { ERROR } from "../harness/recorded-log.ts";
import { World } from "../harness/world.ts";
import { claimMarkers, granted } from "./support/stories.ts";

let world: World;
const kept: string[] = [];

beforeAll(async () => {
  world = await World.start({ config: { readPrivateKeys: () => kept } });
});
afterAll(() => world.end());

it("row 76: alarm, a filling inbox, and work that resumes with the new key", async () => {
  world.expectError(/refuses the App's private key/);
  const repo = await world.repository();
  const first = repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  kept.push(world.github.app.privateKey);
  const next = world.github.rotatePrivateKey();
  // Tokens of the old key live on for an hour; a process that starts now has none.
  await world.restart();

  const issues = ["One", "Two", "Three"].map((title) =>
    repo.as("alice").openIssue({ title, labels: ["backlog"] }),
  );
  await world.github.delivered();
  await granted(world.api, first, "worker/a");
  await expect.poll(() => world.app.deps.github.keyRefusal).not.toBe(null);
  const { body } = await world.api.send("GET", "/health");
  expect(body).toMatchObject({ status: "degraded", inbox: { failed: 0 }, outbox: { failed: 0 } });
  expect(body.problems).toContainEqual(
    expect.stringMatching(
      /GitHub refuses the App's private key since .*PRIVATE_KEY_PATH.*within half a minute/,
    ),
  );
  expect((await world.api.send("GET", "/health", { token: null })).body).toMatchObject({
    status: "degraded",
  });

  const asked = world.github.requestsTo("POST", /access_tokens$/).length;
  repo.as("alice").openIssue({ title: "Four", labels: ["backlog"] });
  await world.github.delivered();
  const { rows } = await world.app.deps.database.pool.query(
    "select count(*)::int as count from inbox where state = 'pending'",
  );
  expect(rows[0].count).toBeGreaterThanOrEqual(issues.length + 1);
  expect(world.github.requestsTo("POST", /access_tokens$/)).toHaveLength(asked);
  expect(world.logged.lines.filter(({ level }) => level >= ERROR)).toHaveLength(1);

  kept.splice(0, kept.length, next);
  await expect.poll(() => world.app.deps.github.isUsable, { timeout: 20_000, interval: 100 }).toBe(true);
  await world.pass(2);
  await world.settled();
  expect(await world.api.ready("?limit=100")).toMatchObject({
    ready: expect.arrayContaining(issues.map((number) => expect.objectContaining({ number }))),
  });
  expect(claimMarkers(repo, first)).toHaveLength(1);
  expect((await world.api.send("GET", "/health")).body.problems).toEqual([]);
}, 60_000);
