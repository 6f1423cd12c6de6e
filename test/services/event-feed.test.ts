/** The event feed of one process: it numbers when it looks, and when others numbered it only reads. */

import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { EventFeed } from "../../src/services/event-feed.ts";
import { numberEvents } from "../../src/store/event-log.ts";
import { createLocalRepository } from "../../src/store/repositories.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
let repositoryId: number;
let feed: EventFeed;
let written = 0;
beforeAll(async () => {
  database = await testDatabase();
  const repository = await database.db
    .transaction()
    .execute((trx) => createLocalRepository(trx, "acme", "widgets"));
  repositoryId = repository.id;
});
afterAll(() => database.drop());
beforeEach(async () => {
  feed = new EventFeed(database.db, pino({ level: "silent" }));
  await feed.look();
});

/** Something that a trigger tells of. */
const change = async (): Promise<void> => {
  written += 1;
  await database.pool.query(
    "insert into record (repository_id, topic, id, kind) values ($1, 'notes', $2, 'Note')",
    [repositoryId, `n-${written}`],
  );
};
const unnumbered = async (): Promise<number> =>
  (await database.pool.query("select count(*)::int as many from event_new")).rows[0]?.many;

it("what others numbered is read, and nothing more is numbered for it", async () => {
  const close = await feed.open();
  const before = feed.head;
  await change();
  await numberEvents(database.db, 10);
  await change();
  await feed.read();
  expect(feed.after(before)).toMatchObject({ events: [{ data: { recordId: `n-${written - 1}` } }] });
  expect(await unnumbered()).toBe(1);
  await feed.look();
  expect(await unnumbered()).toBe(0);
  expect(feed.head).toBeGreaterThan(before + 1);
  close();
  feed.stop();
});

it("where nobody follows, nothing is read", async () => {
  const before = feed.head;
  await change();
  await numberEvents(database.db, 10);
  await feed.read();
  expect(feed.head).toBe(before);
  await feed.look();
  expect(feed.head).toBeGreaterThan(before);
});

it("a look that is asked for while it reads follows at once", async () => {
  const close = await feed.open();
  await change();
  await Promise.all([feed.read(), feed.look(), feed.read()]);
  expect(await unnumbered()).toBe(0);
  close();
  feed.stop();
});
