/** Claims, renewals, releases and writes of many callers share transactions: each is decided as if it came alone. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { itemRef } from "../../src/domain/record-key.ts";
import { releaseClaim, renewClaim } from "../../src/store/keep-claim.ts";
import { type ClaimCall, type ClaimRow, takeClaim } from "../../src/store/take-claim.ts";
import { writeRecord } from "../../src/store/write-record.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

const EPIC = 1;
const PART = 2;
/** An item that no claim can be taken on: a fault is planted in its grant. */
const FAULTY = 3;
const FREE = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19];

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ pool: 20 });
  const { pool } = database;
  await pool.query("insert into repository (id, installation_id, owner, name) values (10, 1, 'o', 'r')");
  for (const number of [EPIC, PART, FAULTY, ...FREE]) {
    await pool.query(
      `insert into issue (repository_id, number, id, title, state, html_url, created_at, updated_at)
       values (10, $1::int, $1::int, 't', 'open', 'u', now(), now())`,
      [number],
    );
    await pool.query(
      "insert into record (repository_id, topic, id, kind, tags) values (10, 'backlog', $1, 'Note', '{backlog,priority:P2,phase:implementation,homeRegion:local,baseBranch:main}')",
      [`issue-${number}`],
    );
    await pool.query(
      "insert into item (repository_id, number, admitted, admission_at, created_at) values (10, $1, true, now(), now())",
      [number],
    );
  }
  await pool.query(
    `insert into record_link (repository_id, topic, id, relation, target_repository_id, target)
     values (10, 'backlog', 'issue-${PART}', 'partOf', 10, 'mem/backlog/issue-${EPIC}')`,
  );
  await pool.query(`
    create function fault() returns trigger language plpgsql as $$ begin raise exception 'planted' using errcode = '22012'; end $$;
    create trigger fault before insert on claim_grant for each row when (new.id = 'issue-${FAULTY}') execute function fault()`);
});
afterAll(() => database.drop());
beforeEach(() => database.pool.query("truncate claim, claim_grant, outbox"));

const call = (number: number, owner = "w/a"): ClaimCall => ({
  ref: itemRef(10, number),
  owner,
  actor: "ann",
  region: "local",
  deploymentRegion: "local",
  leaseSeconds: 600,
  scope: "item",
  takeover: false,
  wait: false,
  ticket: null,
  replica: "here",
  markAfterSeconds: 0,
});
const take = (number: number, owner?: string): Promise<ClaimRow> =>
  takeClaim(database.db, call(number, owner));
const fenceOf = (row: ClaimRow | undefined): number => {
  if (!row?.granted) throw new Error(`not granted: ${JSON.stringify(row)}`);
  return row.fence;
};

/** How many transactions wrote the claims that there are. */
async function transactions(): Promise<number> {
  const { rows } = await database.pool.query("select count(distinct xmin::text)::int as many from claim");
  return rows[0]?.many;
}

describe("at once", () => {
  it("ten items are claimed in few transactions, each with its own token and marker", async () => {
    const rows = await Promise.all(FREE.map((number) => take(number)));
    expect(new Set(rows.map(fenceOf)).size).toBe(FREE.length);
    expect(await transactions()).toBeLessThan(FREE.length);
    const { rows: markers } = await database.pool.query(
      "select promise from outbox where kind = 'claim_marker'",
    );
    expect(markers.map(({ promise }) => promise).sort()).toEqual(
      rows.map((row) => `claim:${fenceOf(row)}`).sort(),
    );
  });

  it("one that comes alone is answered and written as one of many is", async () => {
    const facts = async () => {
      const written = await Promise.all(
        ["claim", "claim_grant", "outbox"].map((table) =>
          database.pool.query(`select to_jsonb(t) as row from ${table} t order by t`),
        ),
      );
      return JSON.stringify(written.map(({ rows }) => rows))
        .replaceAll(/[0-9]{4}-[0-9]{2}-[0-9T:.+]+/g, "a time")
        .replaceAll(/"id":[0-9]+/g, '"id":0');
    };
    const withoutTimes = (row: ClaimRow | undefined) =>
      row?.granted
        ? {
            ...row,
            fence: 0,
            grantedAt: "",
            leaseExpiresAt: "",
            previous: row.previous && { ...row.previous, fence: 0 },
          }
        : { ...row, retryAfterMs: 0 };
    const nameless = (text: string, fences: readonly number[]) =>
      fences.reduce((shorter, fence, index) => shorter.replaceAll(String(fence), `token ${index}`), text);
    const history = async (ask: () => Promise<ClaimRow | undefined>) => {
      await database.pool.query("truncate claim, claim_grant, outbox");
      const first = await ask();
      const refused = await ask();
      // Lapsed, and taken again by the same owner.
      await database.pool.query("update claim set lease_expires_at = granted_at where id = 'issue-10'");
      const again = await ask();
      await database.pool.query("delete from claim where id <> 'issue-10'");
      await database.pool.query("delete from claim_grant where id <> 'issue-10'");
      await database.pool.query("delete from outbox where issue_number <> 10");
      return {
        answers: [first, refused, again].map(withoutTimes),
        written: nameless(await facts(), [fenceOf(first), fenceOf(again)]),
      };
    };
    const alone = await history(() => take(10));
    const beside = await history(async () => (await Promise.all([take(10), take(11), take(12)]))[0]);
    expect(alone.answers.map((row) => row?.granted)).toEqual([true, false, true]);
    expect(alone).toEqual(beside);
  });

  it("one that comes alone and must wait for a lock keeps nobody else waiting", async () => {
    const holder = await database.pool.connect();
    try {
      await holder.query("begin");
      await holder.query(`select pg_advisory_xact_lock(hashtextextended('10/backlog/issue-${EPIC}', 7203))`);
      const below = take(PART);
      await new Promise((resolve) => setImmediate(resolve));
      expect((await take(10)).granted).toBe(true);
      await holder.query("commit");
      expect((await below).granted).toBe(true);
    } finally {
      holder.release();
    }
  });

  it("one item is asked for thirty times and granted once; what is refused beside grants is refused", async () => {
    const asked = Array.from({ length: 30 }, (_, index) => take(10, `w/${index}`));
    const beside = [take(999), take(11), take(12)];
    const rows = await Promise.all(asked);
    expect(rows.filter(({ granted }) => granted)).toHaveLength(1);
    for (const row of rows) if (!row.granted) expect(row.reason).toBe("contended");
    const [missing, ...granted] = await Promise.all(beside);
    expect(missing).toMatchObject({ granted: false, reason: "missing" });
    for (const row of granted) expect(row.granted).toBe(true);
  });

  it("whoever must wait for a lock waits alone", async () => {
    const holder = await database.pool.connect();
    try {
      await holder.query("begin");
      await holder.query(`select pg_advisory_xact_lock(hashtextextended('10/backlog/issue-${EPIC}', 7203))`);
      let isThere = false;
      const below = take(PART).then((row) => {
        isThere = true;
        return row;
      });
      const rows = await Promise.all([take(10), take(11), take(12), take(13)]);
      expect(rows.every(({ granted }) => granted)).toBe(true);
      expect(isThere).toBe(false);
      await holder.query("commit");
      expect((await below).granted).toBe(true);
    } finally {
      holder.release();
    }
  });

  it("what fails fails alone, and nothing of it stays", async () => {
    const settled = await Promise.allSettled([
      take(10),
      take(11),
      take(12),
      take(FAULTY),
      take(13),
      take(14),
    ]);
    expect(settled.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
    const { rows } = await database.pool.query("select id from claim where live order by id");
    expect(rows.map(({ id }) => id)).toEqual([10, 11, 12, 13, 14].map((number) => `issue-${number}`));
  });

  it("renewals, writes and releases are decided one by one under their tokens", async () => {
    const fences = (await Promise.all(FREE.map((number) => take(number)))).map(fenceOf);
    const each = <T>(ask: (number: number, fence: number) => Promise<T>): Promise<T[]> =>
      Promise.all(FREE.map((number, index) => ask(number, (fences[index] ?? 0) - (number % 2))));
    const renewed = await each((number, fence) =>
      renewClaim(database.db, itemRef(10, number), { fence, actor: "ann", leaseSeconds: 900 }),
    );
    expect(renewed.map(({ verdict }) => verdict)).toEqual(
      FREE.map((number) => (number % 2 ? "superseded" : "renew")),
    );
    const wrote = await each((number, token) =>
      writeRecord(database.db, {
        ref: itemRef(10, number),
        token,
        actor: "ann",
        region: "local",
        given: { body: `of ${number}: "{,}\\ é"` },
        addTags: [],
        removeTags: [],
        create: false,
      }),
    );
    expect(wrote.map((row) => (row.refused === undefined ? row.record.body : row.refused))).toEqual(
      FREE.map((number) => (number % 2 ? "stale_token" : `of ${number}: "{,}\\ é"`)),
    );
    const released = await each((number, fence) =>
      releaseClaim(database.db, itemRef(10, number), { fence, actor: "ann", note: null, parks: false }),
    );
    expect(released).toEqual(FREE.map((number) => (number % 2 ? "stale" : "release")));
    const { rows } = await database.pool.query("select id from claim where not live order by id");
    expect(rows.map(({ id }) => id)).toEqual(
      FREE.filter((number) => number % 2 === 0).map((number) => `issue-${number}`),
    );
  });
});
