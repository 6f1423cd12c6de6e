/** What PostgreSQL takes out of the outbox next is what the pure rule says (domain/outbox-order.ts). */

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EffectKind, nextToWrite, URGENCY, type Waiting } from "../../src/domain/outbox-order.ts";
import { keepPromise, takePromise, takeWriter } from "../../src/store/outbox-queue.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await database.pool.query(`
    insert into installation (id, account_login) values (1, 'acme');
    insert into repository (id, installation_id, owner, name, installed, archived, current_name) values
      (10, 1, 'acme', 'one', true, false, true), (11, 1, 'acme', 'two', true, false, true),
      (12, 1, 'acme', 'archived', true, true, true), (13, 1, 'acme', 'left', false, false, true);
    create or replace function db_now() returns timestamptz language sql volatile
      as $$ select '2026-03-01T12:00:00Z'::timestamptz $$`);
});
afterAll(() => database.drop());

const NOW = new Date("2026-03-01T12:00:00Z");
const WRITABLE = [10, 11];

const aPromise = fc.record({
  repositoryId: fc.constantFrom(10, 10, 11, 12, 13),
  issueNumber: fc.option(fc.integer({ min: 1, max: 5 }), { freq: 6 }),
  kind: fc.constantFrom(...(Object.keys(URGENCY) as EffectKind[])),
  ageSeconds: fc.integer({ min: 0, max: 4000 }),
  dueIn: fc.constantFrom(-10, -10, 0, 30),
});

/** Oldest first, as promises are made. */
async function fill(given: readonly (typeof aPromise extends fc.Arbitrary<infer T> ? T : never)[]) {
  await database.pool.query("delete from outbox");
  const rows: Waiting[] = [];
  for (const [index, one] of [...given].sort((a, b) => b.ageSeconds - a.ageSeconds).entries()) {
    const createdAt = new Date(NOW.getTime() - one.ageSeconds * 1000);
    const nextTryAt = new Date(NOW.getTime() + one.dueIn * 1000);
    const { rows: made } = await database.pool.query<{ id: string }>(
      `insert into outbox (repository_id, issue_number, kind, promise, payload, created_at, next_try_at)
       values ($1, $2, $3, $4, '{}', $5, $6) returning id`,
      [one.repositoryId, one.issueNumber, one.kind, `promise:${index}`, createdAt, nextTryAt],
    );
    rows.push({ ...one, id: Number(made[0]?.id), createdAt, nextTryAt });
  }
  return rows;
}

describe("the outbox", () => {
  it("is worked off in the order of the rule, to its end", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aPromise, { maxLength: 14 }), async (given) => {
        const left = (await fill(given)).filter(({ repositoryId }) => WRITABLE.includes(repositoryId));
        await database.pool.query("update installation set writer = null, writer_until = null");
        const first = nextToWrite(left, NOW);
        expect(await takeWriter(database.db, "test")).toBe(first === null ? null : 1);
        await database.pool.query(
          "update installation set writer = 'test', writer_until = '2026-03-01T13:00:00Z'",
        );
        for (;;) {
          const wanted = nextToWrite(left, NOW);
          const taken = await takePromise(database.db, 1, "test");
          expect(taken?.id ?? null).toBe(wanted?.id ?? null);
          if (taken === null) return;
          await keepPromise(database.db, taken);
          left.splice(
            left.findIndex(({ id }) => id === taken.id),
            1,
          );
        }
      }),
      { numRuns: 60 },
    );
  });

  it("gives nothing to whoever is not the writer, nor before it is time", async () => {
    await fill([{ repositoryId: 10, issueNumber: 1, kind: "comment", ageSeconds: 1, dueIn: -10 }]);
    await database.pool.query("update installation set writer = 'other'");
    expect(await takePromise(database.db, 1, "test")).toBe(null);
    for (const column of ["paused_until", "next_write_at"]) {
      await database.pool.query(
        `update installation set writer = 'test', ${column} = '2026-03-01T12:00:01Z'`,
      );
      expect(await takePromise(database.db, 1, "test"), column).toBe(null);
      await database.pool.query(`update installation set writer = null, writer_until = null`);
      expect(await takeWriter(database.db, "test"), column).toBe(null);
      await database.pool.query(
        `update installation set writer = 'test', ${column} = '2026-03-01T12:00:00Z'`,
      );
    }
    expect(await takePromise(database.db, 1, "test")).toMatchObject({ attempts: 1 });
  });
});
