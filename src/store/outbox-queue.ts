/**
 * Takes what is to be written out of the outbox. One process at a time writes for an installation (a lease on its row),
 * in the order of domain/outbox-order.ts. `attempts` is counted up before the call, so that after a crash or a lost
 * answer the next try knows to look first.
 */

import { sql } from "kysely";
import { type EffectKind, GIVES_WAY_SECONDS, URGENCY } from "../domain/outbox-order.ts";
import { dbNow, dbNowPlus } from "./clock.ts";
import type { Db } from "./database.ts";
import type { QueueDepth } from "./inbox.ts";
import type { Effect } from "./outbox.ts";

export interface OutboxRow {
  readonly repositoryId: number;
  readonly id: number;
  readonly issueNumber: number | null;
  readonly promise: string;
  readonly effect: Effect;
  /** Counting this one. */
  readonly attempts: number;
  /** How often it was promised again while it was pending. */
  readonly revision: number;
  readonly createdAt: Date;
}

/** Longer than one row's requests may take, at twenty seconds each. */
const WRITER_SECONDS = 120;

/**
 * Of the row `o`: nothing promised earlier for the same issue is still to be done. In two parts, because an index
 * answers "equal" and "is null", but not "is not distinct from".
 */
const headsItsLine = sql`not exists (
    select 1 from outbox earlier
    where earlier.repository_id = o.repository_id and earlier.state = 'pending' and earlier.id < o.id
      and earlier.issue_number = o.issue_number)
  and (o.issue_number is not null or not exists (
    select 1 from outbox earlier
    where earlier.repository_id = o.repository_id and earlier.state = 'pending' and earlier.id < o.id
      and earlier.issue_number is null))`;

/** The time of the statement: asked once, an index can be searched by it. */
const moment = sql`(select db_now())`;

/** Of the repository `r`: the App may write there, and its name is not another's by now. */
const isWritable = sql`r.installed and not r.archived and r.current_name`;

/** Of the installation `i`: it may be written for at all. */
const isOpen = sql`i.suspended_at is null and i.removed_at is null`;

/**
 * Becomes the writer of an installation with something due, the one that has waited longest. Null: there is none, it
 * is not time yet, or others write.
 */
export async function takeWriter(db: Db, writer: string): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`
    update installation set writer = ${writer}, writer_until = db_now() + make_interval(secs => ${WRITER_SECONDS})
    where id = (
      select i.id from installation i
      where ${isOpen}
        and (i.writer_until is null or i.writer_until < ${moment})
        and (i.paused_until is null or i.paused_until <= ${moment})
        and (i.next_write_at is null or i.next_write_at <= ${moment})
        and exists (
          select 1 from repository r where r.installation_id = i.id and ${isWritable} and exists (
            select 1 from outbox o where o.repository_id = r.id
              and o.state = 'pending' and o.next_try_at <= ${moment} and ${headsItsLine}))
      order by i.next_write_at nulls first limit 1 for update of i skip locked)
    returning id`.execute(db);
  return rows[0]?.id ?? null;
}

export async function releaseWriter(db: Db, installationId: number, writer: string): Promise<void> {
  await db
    .updateTable("installation")
    .set({ writer: null, writer_until: null })
    .where("id", "=", installationId)
    .where("writer", "=", writer)
    .execute();
}

interface Row {
  repository_id: number;
  id: number;
  issue_number: number | null;
  kind: string;
  promise: string;
  payload: object;
  attempts: number;
  revision: number;
  created_at: Date;
}

const toOutboxRow = (row: Row): OutboxRow => ({
  repositoryId: row.repository_id,
  id: row.id,
  issueNumber: row.issue_number,
  promise: row.promise,
  effect: { kind: row.kind, ...row.payload } as Effect,
  attempts: row.attempts,
  revision: row.revision,
  createdAt: row.created_at,
});

/** How long each kind of promise lets more urgent ones pass. */
const givesWay = sql`(values ${sql.join(
  (Object.keys(URGENCY) as EffectKind[]).map(
    (kind) => sql`(${kind}::text, ${GIVES_WAY_SECONDS[URGENCY[kind]]}::float8)`,
  ),
)}) as gives_way (kind, seconds)`;

/**
 * What is written next (`nextToWrite`), counted as tried. Null: nothing is due, it is not time yet, or we are not the
 * writer any more.
 */
export async function takePromise(db: Db, installationId: number, writer: string): Promise<OutboxRow | null> {
  const { rows } = await sql<Row>`
    with mine as (
      update installation set writer_until = db_now() + make_interval(secs => ${WRITER_SECONDS})
      where id = ${installationId} and writer = ${writer}
        and (paused_until is null or paused_until <= db_now())
        and (next_write_at is null or next_write_at <= db_now())
      returning id),
    line as (
      select o.repository_id, min(o.id) as id,
        min(o.created_at + make_interval(secs => gives_way.seconds)) as rank
      from mine join repository r on r.installation_id = mine.id and ${isWritable}
      join outbox o on o.repository_id = r.id and o.state = 'pending'
      join ${givesWay} on gives_way.kind = o.kind
      group by o.repository_id, o.issue_number),
    head as (
      select o.repository_id, o.id from line join outbox o using (repository_id, id)
      where o.next_try_at <= ${moment} order by line.rank, o.id limit 1)
    update outbox set attempts = attempts + 1 from head
    where outbox.repository_id = head.repository_id and outbox.id = head.id and outbox.state = 'pending'
    returning outbox.*`.execute(db);
  return rows[0] ? toOutboxRow(rows[0]) : null;
}

/** The other labels that are to be put on the same issue, not tried yet: one request puts them all on. */
export async function takeLabelsBeside(db: Db, row: OutboxRow): Promise<OutboxRow[]> {
  const { rows } = await sql<Row>`
    update outbox set attempts = attempts + 1
    where repository_id = ${row.repositoryId} and issue_number = ${row.issueNumber} and id <> ${row.id}
      and state = 'pending' and kind = 'add_label' and attempts = 0 and next_try_at <= ${moment}
    returning *`.execute(db);
  return rows.map(toOutboxRow);
}

/** It was kept; what was promised again meanwhile is still to be kept. */
export async function keepPromise(db: Db, row: OutboxRow): Promise<void> {
  await db
    .updateTable("outbox")
    .set({ state: "done", finished_at: dbNow, error: null })
    .where("repository_id", "=", row.repositoryId)
    .where("id", "=", row.id)
    .where("state", "=", "pending")
    .where("revision", "=", row.revision)
    .execute();
}

export async function postponePromise(db: Db, row: OutboxRow, error: string, seconds: number): Promise<void> {
  await db
    .updateTable("outbox")
    .set({ error, next_try_at: dbNowPlus(seconds) })
    .where("repository_id", "=", row.repositoryId)
    .where("id", "=", row.id)
    .where("state", "=", "pending")
    .execute();
}

/** Gives it back for so long. Nothing was sent, so that it does not count as tried. */
export async function returnPromise(db: Db, row: OutboxRow, seconds: number): Promise<void> {
  await db
    .updateTable("outbox")
    .set({ attempts: row.attempts - 1, next_try_at: dbNowPlus(seconds) })
    .where("repository_id", "=", row.repositoryId)
    .where("id", "=", row.id)
    .where("state", "=", "pending")
    .where("attempts", "=", row.attempts)
    .execute();
}

/** Gives up. The row stays, to be seen and to be tried anew (store/dead-letters.ts). */
export async function breakPromise(db: Db, row: OutboxRow, error: string): Promise<void> {
  await db
    .updateTable("outbox")
    .set({ state: "failed", finished_at: dbNow, error })
    .where("repository_id", "=", row.repositoryId)
    .where("id", "=", row.id)
    .where("state", "=", "pending")
    .where("revision", "=", row.revision)
    .execute();
}

export interface OutboxDepth extends QueueDepth {
  /** Of the pending: what waits for a repository that is archived, suspended or not reached by the App any more. */
  readonly held: number;
}

/** `oldestSeconds` is about what may be written: what is held waits for people, however long. */
export async function outboxDepth(db: Db): Promise<OutboxDepth> {
  const { rows } = await sql<OutboxDepth>`
    with waiting as (
      select o.created_at, coalesce(${isWritable} and ${isOpen}, false) as open from outbox o
      left join repository r on r.id = o.repository_id left join installation i on i.id = r.installation_id
      where o.state = 'pending')
    select (select count(*) from waiting) as pending,
           (select count(*) from waiting where not open) as held,
           (select floor(extract(epoch from db_now() - min(created_at)))::int from waiting where open) as "oldestSeconds",
           (select count(*) from outbox where state = 'failed') as failed`.execute(db);
  return rows[0] ?? { pending: 0, held: 0, oldestSeconds: null, failed: 0 };
}

/** How many seconds until something can be written again; null when nothing is pending. */
export async function secondsUntilPromise(db: Db): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from min(greatest(due.next_try_at, i.paused_until, i.writer_until, i.next_write_at))
      - db_now())::float8 as seconds
    from installation i join repository r on r.installation_id = i.id and ${isWritable}
    cross join lateral (
      select o.next_try_at from outbox o
      where o.repository_id = r.id and o.state = 'pending' and ${headsItsLine}
      order by o.next_try_at, o.id limit 1) as due
    where ${isOpen}`.execute(db);
  return rows[0]?.seconds ?? null;
}
