/** What was written to GitHub long ago is forgotten; what waits, what was given up, and what tells that this is over, is not. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { isUnconfirmed, prunePromises } from "../../src/store/outbox.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

it("forgets what was done two weeks ago", async () => {
  await database.pool.query(`
    insert into outbox (repository_id, kind, promise, payload, state, finished_at)
    select 10, 'comment', promise, '{}', state, db_now() - make_interval(days => days) from (values
      ('old', 'done', 15), ('recent', 'done', 13), ('waits', 'pending', 15), ('given up', 'failed', 15),
      ('made good', 'failed', 30), ('made good', 'done', 15)) as t (promise, state, days)`);
  await prunePromises(database.db);
  const { rows } = await database.pool.query("select promise, state from outbox order by id");
  expect(rows).toEqual([
    { promise: "recent", state: "done" },
    { promise: "waits", state: "pending" },
    { promise: "given up", state: "failed" },
    { promise: "made good", state: "failed" },
    { promise: "made good", state: "done" },
  ]);
  expect(await isUnconfirmed(database.db, 10, "made good")).toBe(false);
});
