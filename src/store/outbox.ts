/**
 * The outbox: what GitHub is still to be told, promised in the transaction that made it true.
 *
 * One process at a time writes for an installation (a lease on its row), in order per issue. `attempts` is
 * counted up before the call, so that after a crash or a lost answer the next try knows to look first.
 */

import { sql } from "kysely";
import { dbNow, dbNowPlus } from "./clock.ts";
import type { Db, Trx } from "./database.ts";
import type { QueueDepth } from "./inbox.ts";

/** What a claim marker tells; times as PostgreSQL's JSON writes them. */
export interface ClaimMarkerFacts {
  readonly number: number;
  readonly owner: string;
  readonly region: string;
  readonly fence: number;
  readonly grantedAt: string;
  readonly leaseExpiresAt: string;
  readonly attempt: number;
  readonly threshold: number;
  readonly previous: { readonly owner: string; readonly fence: number; readonly lapsed: boolean } | null;
}

/** What the outcome comment of a released claim tells. */
export interface ReleaseFacts {
  readonly number: number;
  readonly owner: string;
  readonly fence: number;
  readonly note: string | null;
}

/** Something to do on GitHub. */
export type Effect =
  | { readonly kind: "comment"; readonly body: string }
  /** The texts of these are made when they are posted: granting and releasing are one call to the database each. */
  | ({ readonly kind: "claim_marker" } & ClaimMarkerFacts)
  | ({ readonly kind: "release_outcome" } & ReleaseFacts)
  | { readonly kind: "add_label"; readonly label: string }
  | { readonly kind: "close_issue"; readonly reason: "completed" | "not_planned" }
  | { readonly kind: "reopen_issue" }
  /** Of the promise's issue; the other is named by GitHub's id, not by its number. */
  | { readonly kind: "add_sub_issue"; readonly subIssueId: number }
  | { readonly kind: "add_blocked_by"; readonly blockerId: number }
  /** Promised by triggers (migrations/0008); what it says is decided when it is written. */
  | { readonly kind: "check_run"; readonly pull: number }
  | {
      readonly kind: "create_label";
      readonly name: string;
      readonly color: string;
      readonly description: string;
    };

export interface Promised {
  readonly repositoryId: number;
  readonly issueNumber: number | null;
  /** Names what is promised: while one is pending, a second of the same name is the same promise. */
  readonly promise: string;
  readonly effect: Effect;
}

export const claimPromise = (fence: number): string => `claim:${fence}`;
export const labelPromise = (number: number, label: string): string =>
  `label:${number}:${label.toLowerCase()}`;

export const subIssuePromise = (parent: number, subIssueId: number): string =>
  `sub_issue:${parent}:${subIssueId}`;
export const blockedByPromise = (blocked: number, blockerId: number): string =>
  `blocked_by:${blocked}:${blockerId}`;

/** Promises an effect, to be had after this transaction commits. */
export async function promise(trx: Trx, promised: Promised): Promise<void> {
  const { kind, ...payload } = promised.effect;
  await sql`
    insert into outbox (repository_id, issue_number, kind, promise, payload)
    values (${promised.repositoryId}, ${promised.issueNumber}, ${kind}, ${promised.promise}, ${JSON.stringify(payload)})
    on conflict (repository_id, promise) where state = 'pending' do nothing`.execute(trx);
}

/** What was promised is true already, or no longer wanted. */
export async function settlePromise(
  trx: Trx,
  repositoryId: number,
  name: string,
  why: string,
): Promise<void> {
  await trx
    .updateTable("outbox")
    .set({ state: "done", finished_at: dbNow, error: why })
    .where("repository_id", "=", repositoryId)
    .where("promise", "=", name)
    .where("state", "=", "pending")
    .execute();
}

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

/** Becomes the writer of an installation with something due. Null: there is none, or others write. */
export async function takeWriter(db: Db, writer: string): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`
    update installation set writer = ${writer}, writer_until = db_now() + make_interval(secs => ${WRITER_SECONDS})
    where id = (
      select i.id from installation i
      where i.suspended_at is null and i.removed_at is null
        and (i.writer_until is null or i.writer_until < db_now())
        and (i.paused_until is null or i.paused_until < db_now())
        and exists (
          select 1 from repository r where r.installation_id = i.id and ${isWritable} and exists (
            select 1 from outbox o where o.repository_id = r.id
              and o.state = 'pending' and o.next_try_at <= ${moment} and ${headsItsLine}))
      limit 1 for update of i skip locked)
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

/** GitHub said to wait: nothing is written for the installation until then, by any process. */
export async function pauseInstallation(db: Db, installationId: number, seconds: number): Promise<void> {
  await db
    .updateTable("installation")
    .set({ paused_until: dbNowPlus(seconds) })
    .where("id", "=", installationId)
    .execute();
}

/** The promise that is due first and heads its issue's line, counted as tried. Null: none, or no longer the writer. */
export async function takePromise(db: Db, installationId: number, writer: string): Promise<OutboxRow | null> {
  const { rows } = await sql<{
    repository_id: number;
    id: number;
    issue_number: number | null;
    kind: string;
    promise: string;
    payload: object;
    attempts: number;
    revision: number;
    created_at: Date;
  }>`
    with mine as (
      update installation set writer_until = db_now() + make_interval(secs => ${WRITER_SECONDS})
      where id = ${installationId} and writer = ${writer} returning id),
    head as (
      select due.* from mine join repository r on r.installation_id = mine.id and ${isWritable}
      cross join lateral (
        select o.repository_id, o.id, o.next_try_at from outbox o
        where o.repository_id = r.id and o.state = 'pending' and o.next_try_at <= ${moment} and ${headsItsLine}
        order by o.next_try_at, o.id limit 1) as due
      order by due.next_try_at, due.id limit 1)
    update outbox set attempts = attempts + 1 from head
    where outbox.repository_id = head.repository_id and outbox.id = head.id and outbox.state = 'pending'
    returning outbox.*`.execute(db);
  const row = rows[0];
  if (!row) return null;
  return {
    repositoryId: row.repository_id,
    id: row.id,
    issueNumber: row.issue_number,
    promise: row.promise,
    effect: { kind: row.kind, ...row.payload } as Effect,
    attempts: row.attempts,
    revision: row.revision,
    createdAt: row.created_at,
  };
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

/** Gives up. The row stays, visible in `health`. */
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

export async function outboxDepth(db: Db): Promise<QueueDepth> {
  const { rows } = await sql<QueueDepth>`
    select (select count(*) from outbox where state = 'pending') as pending,
           (select floor(extract(epoch from db_now() - min(created_at)))::int from outbox where state = 'pending') as "oldestSeconds",
           (select count(*) from outbox where state = 'failed') as failed`.execute(db);
  return rows[0] ?? { pending: 0, oldestSeconds: null, failed: 0 };
}

/** How many seconds until something can be written again; null when nothing is pending. */
export async function secondsUntilPromise(db: Db): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from min(greatest(due.next_try_at, i.paused_until, i.writer_until)) - db_now())::float8 as seconds
    from installation i join repository r on r.installation_id = i.id and ${isWritable}
    cross join lateral (
      select o.next_try_at from outbox o
      where o.repository_id = r.id and o.state = 'pending' and ${headsItsLine}
      order by o.next_try_at, o.id limit 1) as due
    where i.suspended_at is null and i.removed_at is null`.execute(db);
  return rows[0]?.seconds ?? null;
}

/** Takes up again the labels of half parks: the tag says parked, but writing the label was given up. */
export async function retryPromisedLabels(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    update outbox o set state = 'pending', attempts = 0, next_try_at = db_now(), finished_at = null
    from item i, repository r
    where o.state = 'failed' and o.kind = 'add_label' and i.repository_id = o.repository_id
      and i.number = o.issue_number and i.state = 'parked' and r.id = o.repository_id and r.installed
      and lower(o.payload ->> 'label') = lower(coalesce(r.settings -> 'labels' ->> 'stale', 'stale'))
      and not exists (select 1 from outbox p where p.repository_id = o.repository_id
        and p.promise = o.promise and p.id > o.id)`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** Whether the last promise of that name is not known to be kept: pending, or given up. */
export async function isUnconfirmed(db: Db, repositoryId: number, name: string): Promise<boolean> {
  const row = await db
    .selectFrom("outbox")
    .select("state")
    .where("repository_id", "=", repositoryId)
    .where("promise", "=", name)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row !== undefined && row.state !== "done";
}
