/** A claim is not refused for a defect that was mended, though nobody has looked at the item since (protocol 6). */

import { afterAll, beforeAll, expect, it } from "vitest";
import { ADMIN } from "../../src/services/caller.ts";
import { checkItems } from "../../src/services/check-items.ts";
import { claim } from "../../src/services/claim.ts";
import type { Deps } from "../../src/services/deps.ts";
import { Metrics } from "../../src/services/metrics.ts";
import { findRepositoryById } from "../../src/store/repositories.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";
import { backlog, writeBacklogs } from "./support/backlogs.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const NUMBER = 1;

it("the claim looks again before it refuses", async () => {
  const [id = 0] = await writeBacklogs(database.pool, [backlog({})]);
  const repository = await findRepositoryById(database.db, id);
  if (!repository) throw new Error("the repository was not written");
  const deps = {
    db: database.db,
    region: "local",
    lease: { defaultSeconds: 30, maxSeconds: 1800 },
    replica: "r",
    wake: { outbox: () => {} },
    mirrors: { refusal: async () => null },
    metrics: new Metrics(),
  } as unknown as Deps;
  const take = () =>
    claim(deps, ADMIN, { repository, topic: "backlog", id: `issue-${NUMBER}` }, { owner: "w/a" });
  const allChecked = async (): Promise<void> => {
    while (await checkItems(database.db));
  };
  const wrongBase = [id, NUMBER, "wrong_base", "#7", "merged elsewhere"];
  await database.pool.query(
    "insert into incident (repository_id, number, code, value, detail) values ($1, $2, $3, $4, $5)",
    wrongBase,
  );
  await allChecked();
  // It stands, so nobody looks again.
  expect(await take()).toMatchObject({
    granted: false,
    reason: "blocked",
    detail: expect.stringMatching(/defect/),
  });
  // Something else about the item changed; the defect stands all the same.
  await database.pool.query(
    "update item set admitted = not admitted where repository_id = $1 and number = $2",
    [id, NUMBER],
  );
  await database.pool.query(
    "update item set admitted = not admitted where repository_id = $1 and number = $2",
    [id, NUMBER],
  );
  expect(await take()).toMatchObject({ granted: false, reason: "blocked" });
  await database.pool.query("delete from incident where repository_id = $1 and number = $2", [id, NUMBER]);
  expect(await take()).toMatchObject({ granted: true });
});
