/**
 * The inbox: every delivery of GitHub, stored before it is answered, worked off in order per lane.
 *
 * What must hold: a delivery is never lost; its effect happens once (the row is finished in the transaction
 * that has the effect); within a lane nothing overtakes. A lane's head is leased, not locked, because GitHub
 * may have to be asked before its transaction opens; a process that dies lets the lease lapse.
 */

import { sql } from "kysely";
import { dbNow, dbNowPlus } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

export interface NewDelivery {
  /** 0 for deliveries about no single repository. */
  readonly repositoryId: number;
  readonly hookId: string;
  readonly deliveryId: string;
  readonly event: string;
  readonly action: string | null;
  readonly lane: string;
  readonly payload: string;
}

export interface Delivery extends NewDelivery {
  readonly seq: number;
  /** Counting this one. */
  readonly attempts: number;
  /** How often in a row whoever had it never came back, not counting this one. */
  readonly lapses: number;
  readonly ageSeconds: number;
}

/** How long one delivery may take before another process may take it over. */
export const LEASE_SECONDS = 90;

export type Stored = "stored" | "repeated" | "retried";

/**
 * Stores deliveries, all in one commit, and answers what became of each, in their order. A repeated one changes nothing,
 * unless its processing had failed: then it is tried anew. None waits for one that is being worked on.
 */
export async function storeDeliveries(db: Db, deliveries: readonly NewDelivery[]): Promise<Stored[]> {
  const fresh = await db
    .insertInto("inbox")
    .values(
      deliveries.map((delivery) => ({
        repository_id: delivery.repositoryId,
        hook_id: delivery.hookId,
        delivery_id: delivery.deliveryId,
        event: delivery.event,
        action: delivery.action,
        lane: delivery.lane,
        payload: delivery.payload,
        // Of the others none can be applied with many (`services/apply-together.ts`).
        alone: delivery.event !== "issues",
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning(["repository_id", "hook_id", "delivery_id"])
    .execute();
  const unclaimed = new Set(fresh.map((row) => keyOf(row.repository_id, row.hook_id, row.delivery_id)));
  const stored: Stored[] = [];
  for (const delivery of deliveries) {
    const { repositoryId, hookId, deliveryId } = delivery;
    // Of two that came together under one id the first is the one that was stored.
    if (unclaimed.delete(keyOf(repositoryId, hookId, deliveryId))) stored.push("stored");
    else stored.push((await retryFailed(db, delivery)) ? "retried" : "repeated");
  }
  return stored;
}

const keyOf = (...parts: readonly (string | number)[]): string => JSON.stringify(parts);

async function retryFailed(db: Db, { repositoryId, hookId, deliveryId }: NewDelivery): Promise<boolean> {
  const retried = await db
    .updateTable("inbox")
    .set({ state: "pending", attempts: 0, lapses: 0, error: null, next_try_at: dbNow, finished_at: null })
    .where("repository_id", "=", repositoryId)
    .where("hook_id", "=", hookId)
    .where("delivery_id", "=", deliveryId)
    .where("state", "=", "failed")
    .returning("seq")
    .executeTakeFirst();
  return retried !== undefined;
}

export interface DeliveryRow {
  repository_id: number;
  hook_id: string;
  delivery_id: string;
  event: string;
  action: string | null;
  lane: string;
  payload: string;
  seq: number;
  attempts: number;
  lapses: number;
  age_seconds: number;
}

export const toDelivery = (row: DeliveryRow): Delivery => ({
  repositoryId: row.repository_id,
  hookId: row.hook_id,
  deliveryId: row.delivery_id,
  event: row.event,
  action: row.action,
  lane: row.lane,
  payload: row.payload,
  seq: row.seq,
  attempts: row.attempts,
  lapses: row.lapses,
  ageSeconds: row.age_seconds,
});

/**
 * Leases the oldest delivery that is due, heads its lane and is to be applied alone; with `lane`, the head of that lane,
 * whichever it is. Null: nothing is due.
 */
export async function takeDelivery(
  db: Db,
  lane: { repositoryId: number; lane: string } | null,
): Promise<Delivery | null> {
  const within = lane ? sql`i.repository_id = ${lane.repositoryId} and i.lane = ${lane.lane}` : sql`i.alone`;
  const { rows } = await sql<DeliveryRow>`
    with head as (
      select i.seq from inbox i
      where i.state = 'pending' and ${within} and i.next_try_at <= (select db_now())
        and (i.locked_until is null or i.locked_until < (select db_now()))
        -- Asked for each by the lane's index: as a join it would be planned for all that wait.
        and i.seq = (
          select earlier.seq from inbox earlier
          where earlier.repository_id = i.repository_id and earlier.lane = i.lane and earlier.state = 'pending'
          order by earlier.repository_id, earlier.lane, earlier.seq limit 1)
      order by i.seq limit 1 for update skip locked)
    update inbox set locked_until = db_now() + make_interval(secs => ${LEASE_SECONDS}), attempts = attempts + 1,
      -- Who ends a try takes its lease away.
      lapses = lapses + (locked_until is not null)::int
    from head where inbox.seq = head.seq
    returning inbox.*, extract(epoch from db_now() - inbox.received_at)::float8 as age_seconds`.execute(db);
  return rows[0] ? toDelivery(rows[0]) : null;
}

/**
 * Locks a delivery for the transaction that has its effect. False: somebody finished it meanwhile, and the
 * transaction must change nothing.
 */
export async function lockDelivery(trx: Trx, seq: number): Promise<boolean> {
  const row = await trx
    .selectFrom("inbox")
    .select("state")
    .where("seq", "=", seq)
    .forUpdate()
    .executeTakeFirst();
  return row?.state === "pending";
}

/** The deliveries' effects are in this transaction, or they have none. What is done already stays as it is. */
export async function finishDeliveries(db: Db, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return;
  await db
    .updateTable("inbox")
    .set({ state: "done", finished_at: dbNow, locked_until: null, error: null })
    .where("seq", "=", sql<number>`any (${[...seqs]}::bigint[])`)
    .where("state", "=", "pending")
    .execute();
}

/** As `finishDeliveries`, of one. */
export const finishDelivery = (db: Db, seq: number): Promise<void> => finishDeliveries(db, [seq]);

/** Tries a delivery again later; `attempt` guards against a process whose lease was taken over. */
export async function postponeDelivery(db: Db, seq: number, attempt: number, error: string, seconds: number) {
  await db
    .updateTable("inbox")
    .set({ next_try_at: dbNowPlus(seconds), locked_until: null, error, lapses: 0 })
    .where("seq", "=", seq)
    .where("attempts", "=", attempt)
    .where("state", "=", "pending")
    .execute();
}

/** What waits for its next try, of repositories that an installation reaches, is due now: what it waited for is over. */
export async function hastenDeliveries(trx: Trx, installationId: number): Promise<void> {
  await sql`
    update inbox i set next_try_at = db_now() from repository r
    where r.installation_id = ${installationId} and i.repository_id = r.id and i.state = 'pending'
      and i.next_try_at > db_now()`.execute(trx);
}

/** Gives a lease back: the try did not come to its end through no fault of the delivery. */
export async function returnDelivery(db: Db, seq: number, attempt: number): Promise<void> {
  await db
    .updateTable("inbox")
    .set({ locked_until: null, attempts: attempt - 1, lapses: 0 })
    .where("seq", "=", seq)
    .where("attempts", "=", attempt)
    .where("state", "=", "pending")
    .execute();
}

/** Gives a delivery up. It is kept, with its error, and a redelivery tries it anew. */
export async function failDelivery(db: Db, seq: number, attempt: number, error: string): Promise<void> {
  await db
    .updateTable("inbox")
    .set({ state: "failed", finished_at: dbNow, locked_until: null, error })
    .where("seq", "=", seq)
    .where("attempts", "=", attempt)
    .where("state", "=", "pending")
    .execute();
}

/** How many of a repository's deliveries wait to be worked off. */
export async function pendingDeliveriesOf(db: Db, repositoryId: number): Promise<number> {
  const { count } = await db
    .selectFrom("inbox")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("repository_id", "=", repositoryId)
    .where("state", "=", "pending")
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Whether something waits in a lane. */
export async function hasPendingDelivery(db: Db, repositoryId: number, lane: string): Promise<boolean> {
  const row = await db
    .selectFrom("inbox")
    .select("seq")
    .where("repository_id", "=", repositoryId)
    .where("lane", "=", lane)
    .where("state", "=", "pending")
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** How many seconds until a lane's head is due; null when none is pending. What follows a head waits with it. */
export async function secondsUntilDelivery(db: Db): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    with heads as (
      select distinct on (repository_id, lane) next_try_at, locked_until from inbox
      where state = 'pending' order by repository_id, lane, seq)
    select extract(epoch from min(greatest(next_try_at, coalesce(locked_until, next_try_at))) - db_now())::float8 as seconds
    from heads`.execute(db);
  return rows[0]?.seconds ?? null;
}

/** Deletes deliveries finished longer ago than GitHub can redeliver them (3 days; GHES 7). */
export async function pruneDeliveries(db: Db): Promise<void> {
  await sql`delete from inbox where state = 'done' and finished_at < db_now() - interval '14 days'`.execute(
    db,
  );
}

export interface QueueDepth {
  readonly pending: number;
  readonly oldestSeconds: number | null;
  readonly failed: number;
}

export async function inboxDepth(db: Db): Promise<QueueDepth> {
  const { rows } = await sql<QueueDepth>`
    select (select count(*) from inbox where state = 'pending') as pending,
           (select floor(extract(epoch from db_now() - min(received_at)))::int from inbox where state = 'pending') as "oldestSeconds",
           (select count(*) from inbox where state = 'failed') as failed`.execute(db);
  return rows[0] ?? { pending: 0, oldestSeconds: null, failed: 0 };
}

export interface FailedDelivery {
  readonly repositoryId: number;
  readonly deliveryId: string;
  readonly event: string;
  readonly error: string | null;
  readonly failedAt: Date;
}

/** The deliveries that were given up, newest first. */
export async function failedDeliveries(db: Db, limit: number): Promise<FailedDelivery[]> {
  const { rows } = await sql<FailedDelivery>`
    select repository_id as "repositoryId", delivery_id as "deliveryId", event, error, finished_at as "failedAt"
    from inbox where state = 'failed' order by finished_at desc limit ${limit}`.execute(db);
  return rows;
}
