/**
 * The event log (migrations/0014).
 *
 * What must hold: an event is there if and only if its change was committed; its number is higher than that of every
 * event that anybody could read before it was committed. Triggers write events without a number, in the transaction
 * of the change. `number_events` numbers them after the commit, one process at a time under an advisory lock, which it
 * holds until its numbers are visible: so whoever reads up to the last number misses none below it.
 */

import { sql } from "kysely";
import type { EventType, LogEvent } from "../domain/events.ts";
import type { ItemAt, Scope } from "../domain/scope.ts";
import { callFunction } from "./call.ts";
import { type Db, inTransaction } from "./database.ts";
import { reaches } from "./reach.ts";

const NUMBER_EVENTS = { name: "number_events", text: "select number_events($1) as answer" };

/** Gives numbers to at most `most` events that were committed without. `last`: the last number there is. */
export const numberEvents = (db: Db, most: number): Promise<{ numbered: number; last: number }> =>
  callFunction(db, NUMBER_EVENTS, [most]);

const LAST_EVENT = { name: "last_event", text: "select last_id as answer from event_log" };

/** The last number that was given. */
export const lastEvent = (db: Db): Promise<number> => callFunction(db, LAST_EVENT, []);

export interface EventPage {
  readonly after: number;
  readonly through: number;
  readonly limit: number;
  /** Null: of all. */
  readonly repositoryIds: readonly number[] | null;
  readonly types: readonly string[] | null;
}

/** Events after one number and up to another, in order. */
export async function readEvents(db: Db, page: EventPage): Promise<LogEvent[]> {
  const { after, through, limit, repositoryIds, types } = page;
  const wanted = [sql`e.id > ${after}`, sql`e.id <= ${through}`];
  if (repositoryIds !== null) wanted.push(sql`e.repository_id = any (${[...repositoryIds]}::bigint[])`);
  if (types !== null) wanted.push(sql`e.type = any (${[...types]}::text[])`);
  const { rows } = await sql<EventRow>`
    select e.id, e.type, e.repository_id as "repositoryId", r.owner || '/' || r.name as repo, e.number, e.at, e.data,
      t.owner || '/' || t.name as "otherRepo"
    from event e join repository r on r.id = e.repository_id
    left join repository t on t.id = (e.data -> 'on' ->> 'repositoryId')::bigint
    where ${sql.join(wanted, sql` and `)}
    order by e.id limit ${limit}`.execute(db);
  return rows.map(toEvent);
}

interface EventRow {
  readonly id: number;
  readonly type: EventType;
  readonly repositoryId: number;
  readonly repo: string;
  readonly number: number | null;
  readonly at: Date;
  readonly data: Readonly<Record<string, unknown>> & { readonly on?: StoredEnd };
  readonly otherRepo: string | null;
}

/** As record_link has it: the whole key where the repository is not known. */
interface StoredEnd {
  readonly repositoryId: number;
  readonly target: string;
}

function toEvent({ data, otherRepo, ...row }: EventRow): LogEvent {
  const { on, ...stored } = data;
  const more = { ...stored, ...readTimes(stored) };
  if (on === undefined) return { ...row, data: more, other: null };
  const number = /^mem\/backlog\/issue-(\d+)$/.exec(on.target)?.[1];
  return {
    ...row,
    data: { ...more, on: otherRepo === null ? on.target : `repo/${otherRepo}/${on.target}` },
    other: number === undefined ? "not_known" : { repositoryId: on.repositoryId, number: Number(number) },
  };
}

/** Times as the API writes them, in place of PostgreSQL's JSON. */
function readTimes({ expiresAt }: { readonly expiresAt?: unknown }): { readonly expiresAt?: string } {
  return typeof expiresAt === "string" ? { expiresAt: new Date(expiresAt).toISOString() } : {};
}

/** Whether the log holds what follows a number: it gave it, and it removed nothing after it. */
export async function hasEventsSince(db: Db, id: number): Promise<"known" | "expired" | "unknown"> {
  const { rows } = await sql<{ known: boolean; pruned: number }>`
    select exists (select 1 from event where id = ${id}) or pruned_id = ${id} as known, pruned_id as pruned
    from event_log`.execute(db);
  const [log] = rows;
  if (log?.known) return "known";
  return log !== undefined && id < log.pruned ? "expired" : "unknown";
}

/** Those of the items that a scope reaches now. What is no item (any more) is not reached. */
export async function reachedOf(db: Db, scope: Scope, items: readonly ItemAt[]): Promise<ItemAt[]> {
  if (items.length === 0) return [];
  const { rows } = await sql<ItemAt>`
    select i.repository_id as "repositoryId", i.number
    from unnest(${items.map(({ repositoryId }) => repositoryId)}::bigint[], ${items.map(({ number }) => number)}::int[])
      as asked (repository_id, number)
    join item i on i.repository_id = asked.repository_id and i.number = asked.number and i.enrolled
    where ${reaches(scope, sql`i.repository_id`, sql`i.number`)}`.execute(db);
  return rows;
}

/** A client that is away for a long weekend misses nothing; what grows with every claim is not kept for ever. */
export const KEPT_HOURS = 96;
const PRUNED_AT_ONCE = 10_000;

/** Removes the events that are older than they are kept, a few at a time: nobody waits for it. */
export async function pruneEvents(db: Db): Promise<void> {
  let pruned: number;
  do {
    pruned = await inTransaction(db, async (trx) => {
      const { rows } = await sql<{ pruned: number }>`
        select prune_events(db_now() - make_interval(hours => ${KEPT_HOURS}), ${PRUNED_AT_ONCE}) as pruned`.execute(
        trx,
      );
      return rows[0]?.pruned ?? 0;
    });
  } while (pruned === PRUNED_AT_ONCE);
}
