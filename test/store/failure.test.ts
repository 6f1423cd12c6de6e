/** What PostgreSQL's failures mean, and that a transaction which was broken off is run again. */

import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Db, inTransaction, openDatabase, type Trx } from "../../src/store/database.ts";
import { isBrokenOff, isConnectionLost, isDataError, untilNotBrokenOff } from "../../src/store/failure.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const thrownBy = (work: () => Promise<unknown>): Promise<unknown> =>
  work().then(
    () => {
      throw new Error("it did not fail");
    },
    (error: unknown) => error,
  );

describe("a connection that is lost", () => {
  const kill = (pid: number) => database.pool.query("select pg_terminate_backend($1)", [pid]);

  it("is told while a query runs, in the next query on it, and by the pool that is closed", async () => {
    const other = openDatabase(database.url, 1, () => {});
    const client = await other.pool.connect();
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const running = thrownBy(() => client.query("select pg_sleep(60)"));
    await kill(rows[0]?.pid ?? 0);
    expect(isConnectionLost(await running)).toBe(true);
    await client.query("select 1").catch(() => {});
    expect(isConnectionLost(await thrownBy(() => client.query("select 1")))).toBe(true);
    client.release();
    await other.pool.end();
    expect(isConnectionLost(await thrownBy(() => other.pool.query("select 1")))).toBe(true);
  });

  it("is told when a transaction loses it", async () => {
    const error = await thrownBy(() =>
      inTransaction(database.db, async (trx) => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
        await kill(rows[0]?.pid ?? 0);
        await sql`select 1`.execute(trx);
      }),
    );
    expect(isConnectionLost(error)).toBe(true);
  });

  it("is told when none can be had: nobody listens, no such host, no connection left", async () => {
    for (const url of ["postgres://u:p@127.0.0.1:1/x", "postgres://u:p@nowhere.invalid/x"])
      expect(isConnectionLost(await thrownBy(() => new pg.Client({ connectionString: url }).connect()))).toBe(
        true,
      );
    const busy = new pg.Pool({ connectionString: database.url, max: 1, connectionTimeoutMillis: 60_000 });
    const only = await busy.connect();
    Object.assign(busy.options, { connectionTimeoutMillis: 20 });
    expect(isConnectionLost(await thrownBy(() => busy.connect()))).toBe(true);
    only.release();
    await busy.end();
  });

  it.each([
    ["57P03", "the database system is starting up"],
    ["57P02", "terminating connection because of crash of another server process"],
    ["53300", "sorry, too many clients already"],
    ["08006", "connection failure"],
  ])("is told by %s: %s", (code, message) =>
    expect(isConnectionLost(Object.assign(new Error(message), { code }))).toBe(true),
  );

  it("is no mistake of ours, and no refusal", async () => {
    const asked = ["selec 1", "select 1/0", "select no_such_column", "select 'x'::int"];
    for (const text of asked)
      expect(isConnectionLost(await thrownBy(() => database.pool.query(text)))).toBe(false);
    const protocolViolation = Object.assign(new Error("invalid message"), { code: "08P01" });
    for (const error of [protocolViolation, new Error("x"), "Connection terminated", null, undefined])
      expect(isConnectionLost(error)).toBe(false);
    expect(isDataError(await thrownBy(() => database.pool.query("select 'x'::int")))).toBe(true);
  });
});

describe("a transaction that was broken off", () => {
  const lock = (trx: Trx, key: number) => sql`select pg_advisory_xact_lock(${key})`.execute(trx);

  it("is run again: two that lock each other out both come through", async () => {
    let runs = 0;
    let holding = 0;
    const { promise: bothHold, resolve } = Promise.withResolvers<void>();
    const take = (db: Db, first: number, second: number) =>
      inTransaction(db, async (trx) => {
        runs += 1;
        await lock(trx, first);
        holding += 1;
        if (holding === 2) resolve();
        await bothHold;
        await lock(trx, second);
        return first;
      });
    const done = await Promise.all([take(database.db, 1, 2), take(database.db, 2, 1)]);
    expect(done).toEqual([1, 2]);
    expect(runs).toBe(3);
  });

  it("is run again as a whole: one inside it is not run by itself", async () => {
    let outer = 0;
    let inner = 0;
    const answer = await inTransaction(database.db, async (trx) => {
      outer += 1;
      await inTransaction(trx, async () => {
        inner += 1;
        if (outer === 1) await sql`do $$ begin raise exception using errcode = '40001'; end $$`.execute(trx);
      });
      return "done";
    });
    expect({ answer, outer, inner }).toEqual({ answer: "done", outer: 2, inner: 2 });
  });

  it("is given up after five times, with PostgreSQL's error", async () => {
    let runs = 0;
    const error = await thrownBy(() =>
      untilNotBrokenOff(async () => {
        runs += 1;
        throw Object.assign(new Error("deadlock detected"), { code: "40P01" });
      }),
    );
    expect(isBrokenOff(error)).toBe(true);
    expect(runs).toBe(5);
  });

  it("is not run again for any other failure: it may have been committed", async () => {
    let runs = 0;
    const lost = Object.assign(new Error("gone"), { code: "57P01" });
    const error = await thrownBy(() =>
      untilNotBrokenOff(async () => {
        runs += 1;
        throw lost;
      }),
    );
    expect(error).toBe(lost);
    expect(runs).toBe(1);
  });
});
