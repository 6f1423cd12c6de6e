/** Where a repository's reading (its backfill, or a reconcile) stands, and who works on it. */

import { sql } from "kysely";
import { dbNowPlus } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

/**
 * What a reading reads. `take_up`: what was there before the App. `since`: what changed since the last one. `all`:
 * everything, so that what is gone is found too.
 */
export type ReadingMode = "take_up" | "since" | "all";

export interface BackfillCursor {
  readonly phase:
    | "labels"
    | "issues"
    | "issues_by_age"
    | "links"
    | "comments"
    | "comments_by_age"
    | "gone_issues"
    | "gone_comments"
    | "pulls"
    | "missed_pulls"
    | "branches"
    | "blockers";
  /** The time of change of the last row seen. */
  readonly since: string | null;
  readonly page: number;
  /** The last number seen, where rows are taken by number. */
  readonly after: number;
  /** When the reading began, by our clock and by GitHub's; null until GitHub was asked. */
  readonly began: { readonly ours: string; readonly theirs: string } | null;
}

export interface TakenReading {
  readonly mode: ReadingMode;
  /** Null at its start. */
  readonly cursor: BackfillCursor | null;
  /** What changed before this time of GitHub's is known; null: nothing is. */
  readonly from: Date | null;
}

/** One page, with GitHub slow, must fit in. */
const LEASE_SECONDS = 300;

/** The App may read there, and the repository's name is not another's by now. */
const isReadable = sql`installed and current_name and exists (
  select 1 from installation i where i.id = installation_id and i.suspended_at is null and i.removed_at is null)`;

/** Leases the repository's pending reading. Null: there is nothing to do here. */
export async function takeBackfill(
  db: Db,
  repositoryId: number,
  worker: string,
): Promise<TakenReading | null> {
  const { rows } = await sql<TakenReading>`
    update repository set backfiller = ${worker}, backfiller_until = db_now() + make_interval(secs => ${LEASE_SECONDS})
    where id = ${repositoryId} and backfill_state = 'pending' and ${isReadable}
      and (backfiller_until is null or backfiller_until < db_now())
    returning backfill_cursor as cursor, backfill_mode as mode, synced_to as "from"`.execute(db);
  return rows[0] ?? null;
}

/** Asks for a reconcile, if the repository can be read and nothing is under way. False: it is not so. */
export async function askForReading(db: Db, repositoryId: number, mode: "since" | "all"): Promise<boolean> {
  const { rows } = await sql`
    update repository set backfill_state = 'pending', backfill_mode = ${mode}, backfill_cursor = null,
      backfill_error = null, backfiller = null, backfiller_until = null
    where id = ${repositoryId} and backfill_state = 'done' and ${isReadable}
    returning id`.execute(db);
  return rows.length > 0;
}

/** What is open is to be read again: what an issue means has changed. Whoever is at it loses the lease. */
export async function restartBackfill(trx: Trx, repositoryId: number): Promise<void> {
  await trx
    .updateTable("repository")
    .set({
      backfill_state: "pending",
      backfill_mode: "take_up",
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

/** The reading is done: what changed before it began is known, and what was missed by then is no longer. */
export async function finishBackfill(
  trx: Trx,
  repositoryId: number,
  worker: string,
  mode: ReadingMode,
  began: { ours: Date; theirs: Date },
): Promise<void> {
  const { rows } = await sql`
    update repository set backfill_state = 'done', backfill_cursor = null, backfill_error = null, backfiller = null,
      backfiller_until = null, unread = false,
      -- What is open alone does not tell what was closed since the last reading.
      synced_at = case when ${mode} <> 'take_up' or synced_to is null then ${began.ours} else synced_at end,
      synced_to = case when ${mode} <> 'take_up' or synced_to is null then ${began.theirs} else synced_to end,
      swept_at = case when ${mode} = 'since' then swept_at else ${began.ours} end
    where id = ${repositoryId} and backfiller = ${worker} returning id`.execute(trx);
  if (rows.length === 0 || mode === "take_up") return;
  await trx
    .deleteFrom("missed_delivery")
    .where("repository_id", "=", repositoryId)
    .where("noticed_at", "<", began.ours)
    .execute();
}

export interface DueReading {
  readonly id: number;
  readonly mode: "since" | "all";
}

/** How long a reading of everything is enough. */
const SWEEP_SECONDS = 86_400;

/** Repositories whose mirror is not known to be whole any more, or was not read as a whole for a day; the oldest first. */
export async function dueReadings(db: Db, reconcileSeconds: number, limit: number): Promise<DueReading[]> {
  const { rows } = await sql<DueReading>`
    select r.id, case when r.swept_at is null or r.swept_at < db_now() - make_interval(secs => ${SWEEP_SECONDS})
      then 'all' else 'since' end as mode
    from repository r
    where r.backfill_state = 'done' and ${isReadable}
      and (r.synced_to is null or r.swept_at is null
        or r.swept_at < db_now() - make_interval(secs => ${SWEEP_SECONDS})
        or mirror_fresh_at(r) < db_now() - make_interval(secs => ${reconcileSeconds})
        -- No delivery tells of links there, so that no audit vouches for them.
        or (r.synced_at < db_now() - make_interval(secs => ${reconcileSeconds})
          and exists (select 1 from delivery_audit a where not a.link_events)))
    order by r.synced_at nulls first limit ${limit}`.execute(db);
  return rows;
}

// ------------------------------------------------------------ what a reading of everything has seen

export type SweptKind = "issue" | "comment";

export async function noteSeen(db: Db, repositoryId: number, kind: SweptKind, ids: readonly number[]) {
  if (ids.length === 0) return;
  await sql`
    insert into sweep_seen (repository_id, kind, id)
    select distinct ${repositoryId}::bigint, ${kind}::text, id from unnest(${[...ids]}::bigint[]) as id
    on conflict do nothing`.execute(db);
}

export async function forgetSeen(db: Db, repositoryId: number): Promise<void> {
  await db.deleteFrom("sweep_seen").where("repository_id", "=", repositoryId).execute();
}

/** Issues of the mirror that were not listed, by number. */
export async function unseenIssues(
  db: Db,
  repositoryId: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`
    select i.number from issue i where i.repository_id = ${repositoryId} and i.number > ${after} and i.gone is null
      and not exists (select 1 from sweep_seen s
        where s.repository_id = i.repository_id and s.kind = 'issue' and s.id = i.number)
    order by i.number limit ${limit}`.execute(db);
  return rows.map(({ number }) => number);
}

/** Comments of the mirror that were not listed, on issues that are there, by id. */
export async function unseenComments(
  db: Db,
  repositoryId: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select c.id from issue_comment c where c.repository_id = ${repositoryId} and c.id > ${after} and not c.deleted
      and exists (select 1 from issue i
        where i.repository_id = c.repository_id and i.number = c.issue_number and i.gone is null)
      and not exists (select 1 from sweep_seen s
        where s.repository_id = c.repository_id and s.kind = 'comment' and s.id = c.id)
    order by c.id limit ${limit}`.execute(db);
  return rows.map(({ id }) => id);
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
