/** Where a repository's backfill stands, and who works on it. */

import { sql } from "kysely";
import { dbNowPlus } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

export interface BackfillCursor {
  readonly phase:
    | "labels"
    | "issues"
    | "issues_by_age"
    | "comments"
    | "comments_by_age"
    | "pulls"
    | "missed_pulls"
    | "blockers";
  /** The time of change of the last row seen. */
  readonly since: string | null;
  readonly page: number;
  /** The last number seen, where rows are taken by number. */
  readonly after: number;
}

/** One page, with GitHub slow, must fit in. */
const LEASE_SECONDS = 300;

/** The App may read there, and the repository's name is not another's by now. */
const isReadable = sql`installed and current_name and exists (
  select 1 from installation i where i.id = installation_id and i.suspended_at is null and i.removed_at is null)`;

/** Leases the repository's pending backfill: answers its cursor, null at its start, or that there is nothing to do here. */
export async function takeBackfill(
  db: Db,
  repositoryId: number,
  worker: string,
): Promise<BackfillCursor | null | "busy"> {
  const { rows } = await sql<{ cursor: BackfillCursor | null }>`
    update repository set backfiller = ${worker}, backfiller_until = db_now() + make_interval(secs => ${LEASE_SECONDS})
    where id = ${repositoryId} and backfill_state = 'pending' and ${isReadable}
      and (backfiller_until is null or backfiller_until < db_now())
    returning backfill_cursor as cursor`.execute(db);
  return rows[0] ? rows[0].cursor : "busy";
}

/** Everything is to be read again: what an issue means has changed. Whoever is at it loses the lease. */
export async function restartBackfill(trx: Trx, repositoryId: number): Promise<void> {
  await trx
    .updateTable("repository")
    .set({
      backfill_state: "pending",
      backfill_cursor: null,
      backfill_error: null,
      backfiller: null,
      backfiller_until: null,
    })
    .where("id", "=", repositoryId)
    .where("installed", "=", true)
    .execute();
}

/** False: the lease was lost, or the backfill was started afresh. */
export async function saveBackfillCursor(
  db: Db,
  repositoryId: number,
  worker: string,
  cursor: BackfillCursor,
): Promise<boolean> {
  const saved = await db
    .updateTable("repository")
    .set({
      backfill_cursor: JSON.stringify(cursor),
      backfiller_until: dbNowPlus(LEASE_SECONDS),
      backfill_error: null,
    })
    .where("id", "=", repositoryId)
    .where("backfiller", "=", worker)
    .where("backfill_state", "=", "pending")
    .returning("id")
    .executeTakeFirst();
  return saved !== undefined;
}

export async function finishBackfill(db: Db, repositoryId: number, worker: string): Promise<void> {
  await db
    .updateTable("repository")
    .set({
      backfill_state: "done",
      backfill_cursor: null,
      backfill_error: null,
      backfiller: null,
      backfiller_until: null,
    })
    .where("id", "=", repositoryId)
    .where("backfiller", "=", worker)
    .execute();
}

/** Gives the lease back; nobody takes it again before so many seconds. */
export async function releaseBackfill(
  db: Db,
  repositoryId: number,
  worker: string,
  error: string,
  seconds: number,
) {
  await db
    .updateTable("repository")
    .set({ backfiller: null, backfiller_until: dbNowPlus(seconds), backfill_error: error })
    .where("id", "=", repositoryId)
    .where("backfiller", "=", worker)
    .execute();
}

/** Repositories whose backfill waits and that nobody works on. */
export async function pendingBackfills(db: Db, limit: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from repository where backfill_state = 'pending' and ${isReadable}
      and (backfiller_until is null or backfiller_until < db_now())
    order by id limit ${limit}`.execute(db);
  return rows.map((row) => row.id);
}
