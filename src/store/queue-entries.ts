/** Rows of the outbox and the inbox as the operator sees them, and tries those anew that were given up. */

import { sql } from "kysely";
import type { Db } from "./database.ts";

type QueueState = "pending" | "done" | "failed";

export interface OutboxEntryRow {
  readonly repositoryId: number;
  readonly id: number;
  readonly repo: string | null;
  readonly issue: number | null;
  readonly kind: string;
  readonly promise: string;
  readonly state: QueueState;
  readonly attempts: number;
  readonly error: string | null;
  readonly createdAt: Date;
  readonly nextTryAt: Date;
  readonly finishedAt: Date | null;
}

export interface InboxEntryRow {
  readonly id: number;
  readonly repositoryId: number;
  readonly repo: string | null;
  readonly deliveryId: string;
  readonly event: string;
  readonly action: string | null;
  readonly state: QueueState;
  readonly attempts: number;
  readonly error: string | null;
  readonly receivedAt: Date;
  readonly nextTryAt: Date;
  readonly finishedAt: Date | null;
}

export interface Page {
  readonly state: "pending" | "failed";
  /** Null: of all. */
  readonly repositoryIds: readonly number[] | null;
  /** Only rows with a smaller id. */
  readonly before: number;
  readonly limit: number;
}

const outboxColumns = sql`o.repository_id as "repositoryId", o.id, r.owner || '/' || r.name as repo,
  o.issue_number as issue, o.kind, o.promise, o.state, o.attempts, o.error, o.created_at as "createdAt",
  o.next_try_at as "nextTryAt", o.finished_at as "finishedAt"`;

const inboxColumns = sql`i.seq as id, i.repository_id as "repositoryId", r.owner || '/' || r.name as repo,
  i.delivery_id as "deliveryId", i.event, i.action, i.state, i.attempts, i.error, i.received_at as "receivedAt",
  i.next_try_at as "nextTryAt", i.finished_at as "finishedAt"`;

/** Newest first. */
export async function outboxEntries(db: Db, page: Page): Promise<OutboxEntryRow[]> {
  const { rows } = await sql<OutboxEntryRow>`
    select ${outboxColumns} from outbox o left join repository r on r.id = o.repository_id
    where o.state = ${page.state} and o.id < ${page.before}
      and (${page.repositoryIds}::bigint[] is null or o.repository_id = any(${page.repositoryIds}::bigint[]))
    order by o.id desc limit ${page.limit}`.execute(db);
  return rows;
}

/** Newest first. */
export async function inboxEntries(db: Db, page: Page): Promise<InboxEntryRow[]> {
  const { rows } = await sql<InboxEntryRow>`
    select ${inboxColumns} from inbox i left join repository r on r.id = i.repository_id
    where i.state = ${page.state} and i.seq < ${page.before}
      and (${page.repositoryIds}::bigint[] is null or i.repository_id = any(${page.repositoryIds}::bigint[]))
    order by i.seq desc limit ${page.limit}`.execute(db);
  return rows;
}

export async function findOutboxEntry(
  db: Db,
  repositoryId: number,
  id: number,
): Promise<OutboxEntryRow | null> {
  const { rows } = await sql<OutboxEntryRow>`
    select ${outboxColumns} from outbox o left join repository r on r.id = o.repository_id
    where o.repository_id = ${repositoryId} and o.id = ${id}`.execute(db);
  return rows[0] ?? null;
}

export async function findInboxEntry(db: Db, id: number): Promise<InboxEntryRow | null> {
  const { rows } = await sql<InboxEntryRow>`
    select ${inboxColumns} from inbox i left join repository r on r.id = i.repository_id
    where i.seq = ${id}`.execute(db);
  return rows[0] ?? null;
}

/**
 * Makes a promise that was given up pending again. It counts as tried once, so that before a comment is written it is
 * looked for: its last try may have worked. False: it was not given up, or was promised anew since.
 */
export async function retryPromise(db: Db, repositoryId: number, id: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update outbox o set state = 'pending', attempts = 1, next_try_at = db_now(), finished_at = null
    where o.repository_id = ${repositoryId} and o.id = ${id} and o.state = 'failed'
      and not exists (select 1 from outbox p where p.repository_id = o.repository_id and p.promise = o.promise
        and p.state = 'pending')`.execute(db);
  return numAffectedRows === 1n;
}

/** As if it had been delivered anew. False: it was not given up. */
export async function retryDelivery(db: Db, id: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update inbox set state = 'pending', attempts = 0, error = null, next_try_at = db_now(), finished_at = null
    where seq = ${id} and state = 'failed'`.execute(db);
  return numAffectedRows === 1n;
}
