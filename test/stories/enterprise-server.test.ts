/** Row 77: GitHub Enterprise Server, whose REST API is below /api/v3 and whose pages are its own. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { World } from "../harness/world.ts";
import { claimMarkers, granted } from "./support/stories.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ github: { enterpriseHost: "github.example.com" } });
});
afterAll(() => world.end());

it("row 77: an issue becomes an item, is claimed, completed by its pull request, and linked to the server's pages", async () => {
  expect(world.github.url).toMatch(/\/api\/v3$/);
  const repo = await world.repository();
  const number = repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  expect(await granted(world.api, number, "worker/a")).toMatchObject({
    url: `https://github.example.com/acme/widgets/issues/${number}`,
  });
  await world.settled();
  expect(claimMarkers(repo, number)).toHaveLength(1);

  const pull = repo.as("alice").openPull({
    head: "elsewhere",
    body: `Fixes https://github.example.com/acme/widgets/issues/${number}`,
  });
  await world.settled();
  repo.as("alice").merge(pull);
  await world.settled();
  expect(await world.api.item(number)).toMatchObject({ state: "complete" });
});

it("row 77: more than a page of issues is read through the server's own links", async () => {
  const repo = world.github.repository("acme/many", { collaborators: { alice: "admin" } });
  world.github.silently(() => {
    for (let made = 0; made < 120; made += 1)
      repo.as("alice").openIssue({ title: `Work ${made}`, labels: [] });
  });
  await world.install(repo);
  const { rows } = await world.app.deps.database.pool.query(
    "select count(*)::int as count from issue where repository_id = $1",
    [repo.id],
  );
  expect(rows[0].count).toBe(120);
});
