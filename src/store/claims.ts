/**
 * Claims, grants and the markers that count them (protocol 4).
 *
 * What must hold: at most one holder per record; tokens strictly increase per record and are never reused;
 * the mark outlives the record. Callers hold the record's lock (`lockRecord`); every change also names the
 * token it is made under, so that a mistake in locking cannot move another's claim.
 */

import { type Selectable, sql } from "kysely";
import type { RecordRef } from "../domain/record-key.ts";
import type { ClaimFacts } from "../domain/why-not.ts";
import type { ClaimEnd, ClaimTable } from "./claim-schema.ts";
import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";
import { holdLocalRepository } from "./records.ts";

export interface Claim extends ClaimFacts {
  readonly scope: string;
  readonly grantedAt: Date;
  readonly releasedAt: Date | null;
  readonly grants: number;
}

export interface FoundClaim {
  readonly claim: Claim;
  readonly now: Date;
}

/** The record's claim, live or not, and the database's time; null when it was never claimed. */
export async function findClaim(db: Db, ref: RecordRef): Promise<FoundClaim | null> {
  const row = await db
    .selectFrom("claim")
    .selectAll()
    .select(dbNow.as("now"))
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .executeTakeFirst();
  return row ? toFound(row) : null;
}

/** As `lockRecord` and then `findClaim`, in one call. */
export async function lockClaim(trx: Trx, ref: RecordRef): Promise<FoundClaim | null> {
  await holdLocalRepository(trx, ref.repositoryId);
  const { rows } = await sql<FoundRow>`
    select *, db_now() as now from lock_claim(${ref.repositoryId}, ${ref.topic}, ${ref.id})`.execute(trx);
  return rows[0] ? toFound(rows[0]) : null;
}

type FoundRow = Selectable<ClaimTable> & { now: Date };

function toFound(row: FoundRow): FoundClaim {
  return {
    now: row.now,
    claim: {
      fence: row.fence,
      live: row.live,
      owner: row.owner,
      actor: row.actor,
      region: row.region,
      scope: row.scope,
      leaseExpiresAt: row.lease_expires_at,
      reclaims: row.reclaims,
      grantedAt: row.granted_at,
      releasedAt: row.released_at,
      grants: row.grants,
    },
  };
}

/** Ends a live claim under its token. The mark stays. False: that token holds nothing live. */
export async function endClaim(trx: Trx, ref: RecordRef, fence: number, how: ClaimEnd): Promise<boolean> {
  const ended = await trx
    .updateTable("claim")
    .set({ live: false, released_at: dbNow })
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .where("fence", "=", fence)
    .where("live", "=", true)
    .returning("fence")
    .executeTakeFirst();
  if (!ended) return false;
  await trx
    .updateTable("claim_grant")
    .set({ ended: how, ended_at: dbNow })
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .where("fence", "=", fence)
    .where("ended", "is", null)
    .execute();
  return true;
}

/** Whether this store granted that token on the item, as an attempt: going on after a lapse is none. */
export async function wasGranted(db: Db, ref: RecordRef, fence: number): Promise<boolean> {
  const row = await db
    .selectFrom("claim_grant")
    .select("fence")
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .where("fence", "=", fence)
    .where("new_attempt", "=", true)
    .executeTakeFirst();
  return row !== undefined;
}

/** The grant of that token, if this store made it. */
export async function findGrant(db: Db, ref: RecordRef, fence: number): Promise<{ owner: string } | null> {
  const row = await db
    .selectFrom("claim_grant")
    .select("owner")
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .where("fence", "=", fence)
    .executeTakeFirst();
  return row ?? null;
}

/** Counts a claim marker, once per fence however often it is seen. */
export async function countMarker(
  trx: Trx,
  marker: {
    repositoryId: number;
    number: number;
    fence: number;
    commentId: number;
    owner: string;
    byApp: boolean;
  },
): Promise<void> {
  await trx
    .insertInto("claim_marker")
    .values({
      repository_id: marker.repositoryId,
      issue_number: marker.number,
      fence: marker.fence,
      comment_id: marker.commentId,
      owner: marker.owner,
      by_app: marker.byApp,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * Raises the token sequence above a fence that is proved to have been issued (protocol 4, "Token"): if the sequence has
 * not reached it, tokens were issued that this database does not know of. `why` is for the log.
 */
export async function raiseFence(trx: Trx, fence: number, why: string): Promise<void> {
  await sql`select raise_fence(${fence}, ${why})`.execute(trx);
}

export interface GrantRow {
  readonly fence: number;
  readonly owner: string;
  readonly region: string;
  readonly scope: string;
  readonly grantedAt: Date;
  readonly newAttempt: boolean;
  readonly previousFence: number | null;
  /** Null: the claim is held. A lease that ran out with nobody after it has lapsed. */
  readonly ended: ClaimEnd | null;
  readonly endedAt: Date | null;
  /** Advisory resources that were used under it. */
  readonly consumed: readonly string[];
}

/** The record's grants below a fence, newest first. */
export async function listGrants(db: Db, ref: RecordRef, below: number, limit: number): Promise<GrantRow[]> {
  const { rows } = await sql<GrantRow>`
    select g.fence, g.owner, g.region, g.scope, g.granted_at as "grantedAt", g.new_attempt as "newAttempt",
      g.previous_fence as "previousFence", g.consumed,
      coalesce(g.ended, case when c.fence = g.fence and c.live and c.lease_expires_at <= db_now() then 'lapsed' end) as ended,
      coalesce(g.ended_at, case when c.fence = g.fence and c.live and c.lease_expires_at <= db_now()
        then c.lease_expires_at end) as "endedAt"
    from claim_grant g
    left join claim c on c.repository_id = g.repository_id and c.topic = g.topic and c.id = g.id
    where g.repository_id = ${ref.repositoryId} and g.topic = ${ref.topic} and g.id = ${ref.id} and g.fence < ${below}
    order by g.fence desc limit ${limit}`.execute(db);
  return rows;
}

/** The live subtree claim above an item that this token was granted for, or null. */
export async function findSubtreeClaim(db: Db, repositoryId: number, number: number, fence: number) {
  const { rows } = await sql<{ mark: number; live: boolean; region: string; actor: string; owner: string }>`
    select c.fence as mark, c.live, c.region, c.actor, c.owner
    from item i join claim c on c.repository_id = i.repository_id and c.topic = 'backlog'
      and c.id = any (select 'issue-' || x from unnest(i.ancestors) x)
    where i.repository_id = ${repositoryId} and i.number = ${number} and c.scope = 'subtree' and c.live
      and c.fence = ${fence}`.execute(db);
  return rows[0] ?? null;
}
