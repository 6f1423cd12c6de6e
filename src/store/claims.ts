/**
 * Claims, grants and the markers that count them (protocol 4).
 *
 * What must hold: at most one holder per record; tokens strictly increase per record and are never reused;
 * the mark outlives the record. Callers hold the record's lock (`lockRecord`); every change also names the
 * token it is made under, so that a mistake in locking cannot move another's claim.
 */

import { sql } from "kysely";
import type { RecordRef } from "../domain/record-key.ts";
import type { ClaimFacts } from "../domain/why-not.ts";
import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";
import type { ClaimEnd } from "./schema.ts";

export interface Claim extends ClaimFacts {
  readonly scope: string;
  readonly grantedAt: Date;
  readonly releasedAt: Date | null;
  readonly grants: number;
}

/** The record's claim, live or not, and the database's time; null when it was never claimed. */
export async function findClaim(db: Db, ref: RecordRef): Promise<{ claim: Claim; now: Date } | null> {
  const row = await db
    .selectFrom("claim")
    .selectAll()
    .select(dbNow.as("now"))
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .executeTakeFirst();
  if (!row) return null;
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

export interface NewGrant {
  readonly owner: string;
  readonly actor: string;
  readonly region: string;
  readonly scope: string;
  readonly leaseSeconds: number;
  readonly newAttempt: boolean;
}

export interface Granted {
  readonly fence: number;
  readonly grantedAt: Date;
  readonly leaseExpiresAt: Date;
  /** How many grants the record has had, this one included. */
  readonly grants: number;
}

/** Grants the claim under the next token above the mark, and closes the grant before it. */
export async function insertGrant(trx: Trx, ref: RecordRef, grant: NewGrant): Promise<Granted> {
  const { rows } = await sql<Granted>`
    with before as (
      select fence, live from claim
      where repository_id = ${ref.repositoryId} and topic = ${ref.topic} and id = ${ref.id}),
    fresh as materialized (
      select next_fence(coalesce((select fence from before), 0)) as fence, db_now() as at),
    closed as (
      update claim_grant g set ended = 'lapsed', ended_at = fresh.at from before, fresh
      where g.repository_id = ${ref.repositoryId} and g.topic = ${ref.topic} and g.id = ${ref.id}
        and g.fence = before.fence and g.ended is null),
    noted as (
      insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt, previous_fence)
      select ${ref.repositoryId}, ${ref.topic}, ${ref.id}, fence, ${grant.owner}, ${grant.actor}, ${grant.region},
             ${grant.scope}, at, ${grant.newAttempt}, (select fence from before) from fresh)
    insert into claim (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at, lease_expires_at)
    select ${ref.repositoryId}, ${ref.topic}, ${ref.id}, fence, true, ${grant.owner}, ${grant.actor}, ${grant.region},
           ${grant.scope}, ${grant.leaseSeconds}, at, at + make_interval(secs => ${grant.leaseSeconds}) from fresh
    on conflict (repository_id, topic, id) do update set
      fence = excluded.fence, live = true, owner = excluded.owner, actor = excluded.actor, region = excluded.region,
      scope = excluded.scope, lease_seconds = excluded.lease_seconds, granted_at = excluded.granted_at,
      lease_expires_at = excluded.lease_expires_at, released_at = null, grants = claim.grants + 1,
      reclaims = case when ${grant.newAttempt}::boolean then 0 else claim.reclaims + 1 end
      where claim.fence < excluded.fence
    returning fence, granted_at as "grantedAt", lease_expires_at as "leaseExpiresAt", grants`.execute(trx);
  const row = rows[0];
  if (!row) throw new Error("a grant was not above the record's mark");
  return row;
}

export interface Renewed {
  readonly leaseExpiresAt: Date;
  readonly previousLeaseExpiresAt: Date;
}

/** Moves the lease's end, if the token is current, the actor is its holder and the lease has not lapsed. */
export async function renewLease(
  trx: Trx,
  ref: RecordRef,
  renewal: { fence: number; actor: string; leaseSeconds: number },
): Promise<Renewed | null> {
  const { rows } = await sql<Renewed>`
    with before as (
      select lease_expires_at from claim
      where repository_id = ${ref.repositoryId} and topic = ${ref.topic} and id = ${ref.id} for update)
    update claim set lease_expires_at = db_now() + make_interval(secs => ${renewal.leaseSeconds}),
                     lease_seconds = ${renewal.leaseSeconds}
    from before
    where repository_id = ${ref.repositoryId} and topic = ${ref.topic} and id = ${ref.id}
      and fence = ${renewal.fence} and actor = ${renewal.actor} and live and claim.lease_expires_at > db_now()
    returning claim.lease_expires_at as "leaseExpiresAt", before.lease_expires_at as "previousLeaseExpiresAt"`.execute(
    trx,
  );
  return rows[0] ?? null;
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

/** Whether this store granted that token on the item. */
export async function wasGranted(db: Db, ref: RecordRef, fence: number): Promise<boolean> {
  const row = await db
    .selectFrom("claim_grant")
    .select("fence")
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .where("fence", "=", fence)
    .executeTakeFirst();
  return row !== undefined;
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

/** A marker of our own that the sequence has not reached (a restored database): no token at or below it is issued. */
export async function raiseFence(trx: Trx, floor: number): Promise<void> {
  await sql`select raise_fence(${floor})`.execute(trx);
}
