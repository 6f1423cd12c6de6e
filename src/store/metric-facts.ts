/** What the database knows for the metrics: counted no further than worth knowing, and not for longer than a moment. */

import { sql } from "kysely";
import type { Db } from "./database.ts";

export interface QueueFacts {
  /** At most `MOST_COUNTED`. */
  readonly pending: number;
  readonly failed: number;
  /** Of the oldest pending; 0 when none is. */
  readonly oldestSeconds: number;
}

export interface MetricFacts {
  readonly inbox: QueueFacts;
  readonly outbox: QueueFacts;
  readonly waiters: number;
  readonly unnumberedEvents: number;
  readonly ready: readonly { readonly repository: string; readonly ready: number }[];
}

/** Counted up to here; more is as bad. */
export const MOST_COUNTED = 10_000;
/** So many repositories are told of, the oldest here first. */
export const MOST_REPOSITORIES = 200;
/** A database that is busy has better things to do. */
const MOST_MS = 2_000;

/** Throws when PostgreSQL cannot answer in time. */
export async function readMetricFacts(db: Db): Promise<MetricFacts> {
  return db.transaction().execute(async (trx) => {
    await sql`select set_config('statement_timeout', ${String(MOST_MS)}, true)`.execute(trx);
    const { rows } = await sql<{
      inbox: QueueFacts;
      outbox: QueueFacts;
      waiters: number;
      unnumbered: number;
    }>`
      select ${queue("inbox", "received_at")} as inbox, ${queue("outbox", "created_at")} as outbox,
        (select count(*) from claim_waiter w join replica r on r.id = w.replica and r.alive_until > db_now()) as waiters,
        (select count(*) from (select 1 from event_new limit ${MOST_COUNTED}) e) as unnumbered`.execute(trx);
    const [queues] = rows;
    if (!queues) throw new Error("PostgreSQL counted nothing");
    const ready = await sql<{ repository: string; ready: number }>`
      select r.owner || '/' || r.name as repository, greatest(0,
        (select count(*) from (select 1 from item i where i.repository_id = r.id and i.offered limit ${MOST_COUNTED}) o)
        - (select count(*) from claim c
           join item i on i.repository_id = c.repository_id and i.number = substr(c.id, 7)::integer and i.offered
           where c.repository_id = r.id and c.topic = 'backlog' and c.live and c.lease_expires_at > db_now()))::int as ready
      from repository r where r.current_name and exists (select 1 from item i where i.repository_id = r.id)
      order by r.created_at, r.id limit ${MOST_REPOSITORIES}`.execute(trx);
    const { inbox, outbox, waiters, unnumbered } = queues;
    return { inbox, outbox, waiters, unnumberedEvents: unnumbered, ready: ready.rows };
  });
}

/** Both queues have the same columns but for the time at which a row came. */
function queue(table: "inbox" | "outbox", since: string) {
  const counted = (state: string) =>
    sql`(select count(*) from (select 1 from ${sql.table(table)} where state = ${state} limit ${MOST_COUNTED}) q)`;
  return sql`json_build_object('pending', ${counted("pending")}, 'failed', ${counted("failed")},
    'oldestSeconds', coalesce((select extract(epoch from db_now() - min(${sql.ref(since)})) from ${sql.table(table)}
      where state = 'pending'), 0)::float8)`;
}
