/**
 * The line of those who wait for a record. A place in it is a row; its owner is a process, which is alive while its
 * heart beats. Waiters hold neither a transaction nor a connection.
 */

import { sql } from "kysely";
import type { RecordRef } from "../domain/record-key.ts";
import { dbNowPlus } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

/** A process is alive for so long after a heartbeat. */
const ALIVE_SECONDS = 4;

/** This process is alive: its waiters count. */
export async function beat(db: Db, replica: string): Promise<void> {
  const alive = { alive_until: dbNowPlus(ALIVE_SECONDS) };
  await db
    .insertInto("replica")
    .values({ id: replica, ...alive })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(alive))
    .execute();
}

/** This process waits for nothing any more. */
export async function leaveAllLines(db: Db, replica: string): Promise<void> {
  await db.deleteFrom("claim_waiter").where("replica", "=", replica).execute();
  await db.deleteFrom("replica").where("id", "=", replica).execute();
}

/**
 * Gives up this process's places that nobody here waits for: leaving was cut off, or the answer that gave the place
 * was, because the database went away. Places just given are left: their waiters are about to be known.
 */
export async function leaveForgotten(db: Db, replica: string, waiting: readonly number[]): Promise<void> {
  await sql`
    delete from claim_waiter where replica = ${replica} and queued_at < db_now() - interval '5 seconds'
      and not ticket = any (${[...waiting]}::bigint[])`.execute(db);
}

/** Clears away what processes that died long ago left. */
export async function clearDeadLines(db: Db): Promise<void> {
  await sql`
    delete from claim_waiter w where not exists (
      select 1 from replica r where r.id = w.replica and r.alive_until > db_now() - interval '1 minute')`.execute(
    db,
  );
  await sql`delete from replica where alive_until < db_now() - interval '1 hour'`.execute(db);
}

/** Leaves the line. Wakes those behind, for whom the place may have been all that was in the way. */
export async function leaveLine(db: Db, ref: RecordRef, ticket: number): Promise<void> {
  const left = await db
    .deleteFrom("claim_waiter")
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .where("ticket", "=", ticket)
    .returning("ticket")
    .executeTakeFirst();
  if (left) await sql`select pg_notify('claim_line', ${lineName(ref)})`.execute(db);
}

/** What NOTIFY calls a record's line. */
export const lineName = (ref: RecordRef): string => `${ref.repositoryId}/${ref.topic}/${ref.id}`;

/** How many wait for the record, over all replicas. */
export async function queueDepth(db: Db, ref: RecordRef): Promise<number> {
  const { rows } = await sql<{ depth: number }>`
    select count(*) as depth from claim_waiter w join replica r on r.id = w.replica and r.alive_until > db_now()
    where w.repository_id = ${ref.repositoryId} and w.topic = ${ref.topic} and w.id = ${ref.id}`.execute(db);
  return rows[0]?.depth ?? 0;
}

/**
 * Takes back a grant that could not be delivered: the holder never knew of it, so it is no attempt, and its marker
 * is not owed; unless the marker may be out already: then it counts. Under the record's lock. False: it is not
 * current any more.
 */
export async function takeBackGrant(trx: Trx, ref: RecordRef, fence: number): Promise<boolean> {
  const { rows } = await sql<{ fence: number }>`
    with ended as (
      update claim set live = false, released_at = db_now()
      where repository_id = ${ref.repositoryId} and topic = ${ref.topic} and id = ${ref.id}
        and fence = ${fence} and live
      returning fence),
    unpromised as (
      update outbox o set state = 'done', finished_at = db_now(), error = 'the grant could not be delivered' from ended
      where o.repository_id = ${ref.repositoryId} and o.promise = 'claim:' || ended.fence and o.state = 'pending'
        and o.attempts = 0
      returning o.id),
    noted as (
      update claim_grant g set ended = 'undelivered', ended_at = db_now(),
        new_attempt = g.new_attempt and g.topic = 'backlog' and not exists (select 1 from unpromised)
          and exists (select 1 from repository r where r.id = g.repository_id and r.installation_id is not null)
      from ended
      where g.repository_id = ${ref.repositoryId} and g.topic = ${ref.topic} and g.id = ${ref.id}
        and g.fence = ended.fence)
    select fence from ended`.execute(trx);
  return rows.length > 0;
}

/** A delivered grant's marker need not wait. */
export async function releaseMarker(db: Db, ref: RecordRef, fence: number): Promise<void> {
  await sql`
    update outbox set next_try_at = db_now()
    where repository_id = ${ref.repositoryId} and promise = ${`claim:${fence}`} and state = 'pending'`.execute(
    db,
  );
}
