/** Asking for an item's check: makes nobody wait, is done once however often it was asked for, and is never lost. */

import type pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { inTransaction } from "../../src/store/database.ts";
import { takeChecks } from "../../src/store/item-checks.ts";
import { backlog, writeBacklog } from "../claims/support/backlogs.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
let repository: number;

beforeAll(async () => {
  database = await testDatabase();
  repository = await writeBacklog(database.pool, backlog({}));
});
afterAll(() => database.drop());
beforeEach(() => database.pool.query("delete from item_check"));

const ask = (client: pg.Pool | pg.PoolClient, number: number) =>
  client.query("select ask_item_check($1, $2)", [repository, number]);
const take = () => inTransaction(database.db, (trx) => takeChecks(trx, 10));
const numbers = async (): Promise<number[]> => (await take()).map(({ number }) => number);

it("two who ask for the same items in opposite order do not wait for each other", async () => {
  const [first, second] = [await database.pool.connect(), await database.pool.connect()];
  try {
    for (const client of [first, second]) {
      await client.query("begin");
      await client.query("set local lock_timeout = '2s'");
    }
    await ask(first, 1);
    await ask(second, 2);
    await ask(first, 2);
    await ask(second, 1);
    await first.query("commit");
    await second.query("commit");
  } finally {
    first.release();
    second.release();
  }
  expect((await numbers()).sort()).toEqual([1, 2]);
  expect(await numbers()).toEqual([]);
});

it("what is asked for while a check is under way is checked once more", async () => {
  await ask(database.pool, 3);
  await inTransaction(database.db, async (trx) => {
    expect((await takeChecks(trx, 10)).map(({ number }) => number)).toEqual([3]);
    await ask(database.pool, 3);
  });
  expect(await numbers()).toEqual([3]);
});

it("a check that breaks off is still to be done", async () => {
  await ask(database.pool, 4);
  const broken = inTransaction(database.db, async (trx) => {
    await takeChecks(trx, 10);
    throw new Error("died half way");
  });
  await expect(broken).rejects.toThrow("died half way");
  expect(await numbers()).toEqual([4]);
});

it("two at work take different items", async () => {
  await ask(database.pool, 5);
  await inTransaction(database.db, async (trx) => {
    expect((await takeChecks(trx, 10)).map(({ number }) => number)).toEqual([5]);
    expect(await numbers()).toEqual([]);
  });
});
