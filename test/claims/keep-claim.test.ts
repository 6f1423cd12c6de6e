/**
 * Renewing and releasing decide in SQL (`renew_claim`, `release_claim`), in one call each. Here they are held against
 * the pure rules (`decideRenew`, `decideRelease`) on random claims and random callers; they must always agree.
 */

import fc from "fast-check";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClaimView, decideRelease, decideRenew } from "../../src/domain/lease.ts";
import type { RecordRef } from "../../src/domain/record-key.ts";
import { findClaim, listGrants } from "../../src/store/claims.ts";
import { releaseClaim, renewClaim } from "../../src/store/keep-claim.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  // Of GitHub, so that outcomes are promised; and one that lives only here.
  await database.pool.query(
    `insert into repository (id, installation_id, owner, name) values (10, 1, 'o', 'on-github')`,
  );
  await database.pool.query(`insert into repository (id, owner, name) values (-5, 'o', 'local')`);
});
afterAll(() => database.drop());

const MARK = 40;
/** No end so near that it could come between the two readings of the clock. */
const aClaim = fc.record({
  live: fc.boolean(),
  actor: fc.constantFrom("ann", "bob"),
  leaseEndsIn: fc.constantFrom(-3600, -60, 60, 600),
});
const aCase = fc.record({
  kind: fc.constantFrom("item", "memory", "local"),
  record: fc.constantFrom("there", "there", "there", "absent", "expired"),
  claim: fc.option(aClaim, { freq: 5 }),
  attempts: fc.constantFrom(1, 2, 3, 3),
  state: fc.constantFrom(null, null, null, "complete", "parked"),
  token: fc.constantFrom(MARK - 1, MARK, MARK, MARK, MARK + 1),
  actor: fc.constantFrom("ann", "bob"),
});
type Case = typeof aCase extends fc.Arbitrary<infer Value> ? Value : never;

let last = 0;
async function write(given: Case): Promise<RecordRef> {
  last += 1;
  const item = given.kind === "item";
  const ref = {
    repositoryId: given.kind === "local" ? -5 : 10,
    topic: item ? "backlog" : "notes",
    id: `issue-${last}`,
  };
  const key = [ref.repositoryId, ref.topic, ref.id];
  const { pool } = database;
  if (item) {
    await pool.query(
      `insert into item (repository_id, number, admitted, admission_at, created_at, state)
       values ($1, $2, true, now(), now(), $3)`,
      [ref.repositoryId, last, given.state],
    );
  }
  if (given.record !== "absent") {
    await pool.query(
      `insert into record (repository_id, topic, id, kind, expires_at)
       values ($1, $2, $3, 'Note', case when $4 then now() - interval '1 minute' end)`,
      [...key, given.record === "expired" && !item],
    );
  }
  if (!given.claim) return ref;
  const { live, actor, leaseEndsIn } = given.claim;
  await pool.query(
    `insert into claim (repository_id, topic, id, fence, live, owner, actor, region, lease_seconds, granted_at, lease_expires_at,
       grants)
     values ($1, $2, $3, $4, $5, 'w/a', $6, 'local', 60, now(), now() + make_interval(secs => $7), greatest(1, $8::int))`,
    [...key, MARK, live, actor, leaseEndsIn, given.attempts],
  );
  for (let fence = MARK - given.attempts + 1; fence <= MARK; fence += 1) {
    await pool.query(
      `insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt, ended)
       values ($1, $2, $3, $4, 'w/a', $5, 'local', 'item', now(), true, $6)`,
      [...key, fence, actor, fence === MARK && live ? null : "released"],
    );
  }
  return ref;
}

const isThere = (given: Case): boolean =>
  given.record === "there" || (given.record === "expired" && given.kind === "item");

const viewOf = async (ref: RecordRef): Promise<{ view: ClaimView | null; now: Date }> => {
  const found = await findClaim(database.db, ref);
  return { view: found?.claim ?? null, now: found?.now ?? new Date() };
};

const outcomes = async (ref: RecordRef): Promise<object[]> => {
  const { rows } = await sql<{ promise: string; payload: object }>`
    select promise, payload from outbox where repository_id = ${ref.repositoryId}
      and issue_number = ${Number(ref.id.slice(6))}`.execute(database.db);
  return rows.map(({ promise, payload }) => ({ promise, ...payload }));
};

/** Every verdict must have come up: random cases that never came to one would prove nothing about it. */
const seen = { renew: new Set<string>(), release: new Set<string>() };

describe("SQL and the pure rules agree", () => {
  it("on renewing, and only what is renewed changes", async () => {
    await fc.assert(
      fc.asyncProperty(aCase, async (given) => {
        const ref = await write(given);
        const { view, now } = await viewOf(ref);
        const wanted =
          view === null && !isThere(given) ? "missing" : decideRenew(view, given.token, given.actor, now);
        const row = await renewClaim(database.db, ref, {
          fence: given.token,
          actor: given.actor,
          leaseSeconds: 77,
        });
        expect(row.verdict).toBe(wanted);
        seen.renew.add(wanted);
        const after = await viewOf(ref);
        if (row.verdict !== "renew") {
          expect(after.view).toEqual(view);
          return;
        }
        expect(new Date(row.previousLeaseExpiresAt)).toEqual(view?.leaseExpiresAt);
        expect(after.view?.leaseExpiresAt).toEqual(new Date(row.leaseExpiresAt));
        expect(Math.abs(new Date(row.leaseExpiresAt).getTime() - now.getTime() - 77_000)).toBeLessThan(5_000);
      }),
      { numRuns: 500 },
    );
    expect([...seen.renew].sort()).toEqual(["missing", "not_holder", "renew", "superseded"]);
  }, 60_000);

  it("on releasing, what it promises, and when it is left to whoever parks", async () => {
    await fc.assert(
      fc.asyncProperty(aCase, fc.boolean(), async (given, parks) => {
        const ref = await write(given);
        const { view } = await viewOf(ref);
        const rule =
          view === null && !isThere(given) ? "missing" : decideRelease(view, given.token, given.actor);
        const live = given.kind === "item" && given.state === null;
        const wanted = rule === "release" && live && given.attempts >= 3 ? "poisoned" : rule;
        const asked = { fence: given.token, actor: given.actor, note: "half done", parks };
        expect(await releaseClaim(database.db, ref, asked)).toBe(wanted);
        seen.release.add(wanted);
        const ended = wanted === "release" || (wanted === "poisoned" && parks);
        const after = await viewOf(ref);
        expect(after.view?.live ?? null).toBe(view === null ? null : view.live && !ended);
        expect(after.view?.fence ?? null).toBe(view?.fence ?? null);
        const [grant] = await listGrants(database.db, ref, MARK + 1, 1);
        if (ended) expect(grant).toMatchObject({ fence: MARK, ended: "released" });
        const told = {
          promise: `outcome:${last}:${MARK}:released`,
          number: last,
          owner: "w/a",
          fence: MARK,
          note: "half done",
        };
        expect(await outcomes(ref)).toEqual(wanted === "release" && live ? [told] : []);
      }),
      { numRuns: 900 },
    );
    const all = ["missing", "not_holder", "poisoned", "release", "stale", "unclaimed"];
    expect([...seen.release].sort()).toEqual(all);
  }, 60_000);
});

describe("a repository that has just moved to GitHub's id", () => {
  it("is neither renewed nor released under its old one", async () => {
    await database.pool.query(
      "insert into repository (id, owner, name, current_name) values (-6, 'o', 'moved', false)",
    );
    const ref = { repositoryId: -6, topic: "notes", id: "a" };
    const asked = { fence: 1, actor: "ann" };
    await expect(renewClaim(database.db, ref, { ...asked, leaseSeconds: 30 })).rejects.toThrow(
      "just been connected",
    );
    await expect(releaseClaim(database.db, ref, { ...asked, note: null, parks: false })).rejects.toThrow(
      "just been connected",
    );
  });
});
