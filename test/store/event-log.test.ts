/** The event log: numbers in the order of commits, none lost and none doubled, whatever runs at once. */

import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  hasEventsSince,
  KEPT_HOURS,
  numberEvents,
  pruneEvents,
  readEvents,
} from "../../src/store/event-log.ts";
import { createLocalRepository } from "../../src/store/repositories.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
let repositoryId: number;
const clients: pg.Client[] = [];
beforeEach(async () => {
  database = await testDatabase();
  const repository = await database.db
    .transaction()
    .execute((trx) => createLocalRepository(trx, "acme", "widgets"));
  repositoryId = repository.id;
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end();
  await database.drop();
});

/** A connection of its own, for a transaction that stays open. */
async function connection(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  clients.push(client);
  return client;
}

const write = (client: pg.Client | pg.Pool, id: string) =>
  client.query("insert into record (repository_id, topic, id, kind) values ($1, 'notes', $2, 'Note')", [
    repositoryId,
    id,
  ]);

const everything = {
  after: 0,
  through: Number.MAX_SAFE_INTEGER,
  limit: 1_000,
  repositoryIds: null,
  types: null,
};
const names = async (after = 0): Promise<unknown[]> =>
  (await readEvents(database.db, { ...everything, after })).map(({ data }) => data.recordId);

describe("two transactions, of which the one that began first commits last", () => {
  it("a reader that goes by the numbers of the insert loses the slower one", async () => {
    const [slow, fast] = [await connection(), await connection()];
    await slow.query("begin");
    await write(slow, "slow");
    await write(fast, "fast");
    const seen: string[] = [];
    let cursor = 0;
    const read = async (): Promise<void> => {
      const { rows } = await database.pool.query(
        "select seq, data ->> 'recordId' as id from event_new where seq > $1 order by seq",
        [cursor],
      );
      for (const row of rows) seen.push(row.id);
      cursor = rows.at(-1)?.seq ?? cursor;
    };
    await read();
    await slow.query("commit");
    await read();
    expect(seen).toEqual(["fast"]);
  });

  it("the log has both, in the order of the commits", async () => {
    const [slow, fast] = [await connection(), await connection()];
    await slow.query("begin");
    await write(slow, "slow");
    await write(fast, "fast");
    const first = await numberEvents(database.db, 100);
    expect(first.numbered).toBe(1);
    expect(await names()).toEqual(["fast"]);
    await slow.query("commit");
    await numberEvents(database.db, 100);
    expect(await names(first.last)).toEqual(["slow"]);
  });

  it("what is rolled back is no event", async () => {
    const client = await connection();
    await client.query("begin");
    await write(client, "never");
    await client.query("rollback");
    expect((await numberEvents(database.db, 100)).numbered).toBe(0);
  });
});

it("many write and many number at once: each event gets one number, and readers miss none as they go", async () => {
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let note = 0; note < 25; note += 1) await write(database.pool, `${writer}-${note}`);
  });
  let isOver = false;
  const numberers = Array.from({ length: 3 }, async () => {
    while (!isOver) await numberEvents(database.db, 7);
  });
  const heard: [number, string][] = [];
  const reader = (async () => {
    while (!isOver || (await numberEvents(database.db, 100)).numbered > 0) {
      const page = await readEvents(database.db, { ...everything, after: heard.at(-1)?.[0] ?? 0 });
      for (const { id, data } of page) heard.push([id, String(data.recordId)]);
    }
  })();
  await Promise.all(writers);
  isOver = true;
  await Promise.all([reader, ...numberers]);
  // Who found another one numbering went away, and that one stopped after its few.
  while ((await numberEvents(database.db, 100)).numbered > 0);
  for (const { id, data } of await readEvents(database.db, { ...everything, after: heard.at(-1)?.[0] ?? 0 }))
    heard.push([id, String(data.recordId)]);
  const ids = heard.map(([id]) => id);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  expect(heard.map(([, name]) => name).sort()).toEqual(
    Array.from({ length: 100 }, (_, index) => `${Math.floor(index / 25)}-${index % 25}`).sort(),
  );
  // What one wrote after the other comes after it.
  for (let writer = 0; writer < 4; writer += 1) {
    const own = heard.map(([, name]) => name).filter((name) => name.startsWith(`${writer}-`));
    expect(own).toEqual(Array.from({ length: 25 }, (_, index) => `${writer}-${index}`));
  }
});

describe("how far back the log goes", () => {
  it("knows every number that it gave, and none besides", async () => {
    await write(database.pool, "a");
    const { last } = await numberEvents(database.db, 100);
    expect(await hasEventsSince(database.db, last)).toBe("known");
    expect(await hasEventsSince(database.db, last + 1)).toBe("unknown");
    expect(await hasEventsSince(database.db, 1)).toBe("expired");
  });

  it("after a restore of an older state the numbers that were lost are not given again", async () => {
    await write(database.pool, "kept");
    const { last: kept } = await numberEvents(database.db, 100);
    await write(database.pool, "lost");
    const { last: lost } = await numberEvents(database.db, 100);
    await database.pool.query("delete from event where id > $1", [kept]);
    await database.pool.query("update event_log set last_id = $1", [kept]);
    expect(await hasEventsSince(database.db, lost)).toBe("unknown");
    for (let note = 0; note < 5; note += 1) await write(database.pool, `after-${note}`);
    const { last } = await numberEvents(database.db, 100);
    expect(last).toBeGreaterThan(lost);
    expect(await hasEventsSince(database.db, lost)).toBe("unknown");
    expect(await hasEventsSince(database.db, kept)).toBe("known");
  });

  it("old events are removed, and who was before them is told that they are gone", async () => {
    const moment = async (hours: number) =>
      database.pool.query(
        `create or replace function db_now() returns timestamptz language sql volatile
         as $$ select clock_timestamp() + interval '${hours} hours' $$`,
      );
    await write(database.pool, "old");
    await write(database.pool, "older");
    const { last: old } = await numberEvents(database.db, 100);
    const [first] = await readEvents(database.db, everything);
    await moment(KEPT_HOURS - 1);
    await write(database.pool, "young");
    await numberEvents(database.db, 100);
    await pruneEvents(database.db);
    expect(await names()).toEqual(["old", "older", "young"]);
    await moment(KEPT_HOURS + 1);
    await pruneEvents(database.db);
    expect(await names()).toEqual(["young"]);
    expect(await hasEventsSince(database.db, first?.id ?? 0)).toBe("expired");
    // Whoever had the last that was removed missed nothing.
    expect(await hasEventsSince(database.db, old)).toBe("known");
  });
});
