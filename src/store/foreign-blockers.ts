/** Blockers in repositories where the App is not installed: what GitHub's list of an issue's blockers tells of them. */

import { sql } from "kysely";
import type { LinkTarget } from "../domain/record-key.ts";
import { dbNow, dbNowPlus } from "./clock.ts";
import type { Db, Trx } from "./database.ts";
import type { IssueAt } from "./native-links.ts";

/** What is told of one. */
export interface ForeignBlocker extends LinkTarget {
  readonly open: boolean;
  readonly stateReason: string | null;
}

export interface ForeignReading extends IssueAt {
  /** Of the answer that was taken last, or null. */
  readonly etag: string | null;
}

/**
 * Takes the live item whose list has been due longest, and plans its next reading: a process that dies on the way leaves it
 * to that one. Null: none is due.
 */
export async function takeForeignReading(db: Db, intervalSeconds: number): Promise<ForeignReading | null> {
  const { rows } = await sql<ForeignReading>`
    insert into foreign_reading (repository_id, number, due_at)
    select due.repository_id, due.number, db_now() + make_interval(secs => ${intervalSeconds}) from (
      select l.repository_id, l.number from record_link l
      join item i on i.repository_id = l.repository_id and i.number = l.number
        and i.enrolled and i.state is null and i.issue_open
      join repository r on r.id = l.repository_id and r.installed and r.current_name
      join installation n on n.id = r.installation_id and n.suspended_at is null and n.removed_at is null
        and coalesce(n.paused_until, '-infinity') <= db_now()
      left join repository t on t.id = l.target_repository_id
      left join foreign_reading f on f.repository_id = l.repository_id and f.number = l.number
      where l.relation = 'blockedBy' and l.native and l.target_repository_id <> l.repository_id
        and not coalesce(t.installed and not t.unread, false) and (f.due_at is null or f.due_at <= db_now())
      order by f.due_at nulls first limit 1) due
    on conflict (repository_id, number) do update set due_at = excluded.due_at
      where foreign_reading.due_at <= db_now()
    returning repository_id as "repositoryId", number, etag`.execute(db);
  return rows[0] ?? null;
}

/** Makes what is told of the issue's blockers elsewhere those given. False: they were already. */
export async function saveForeignBlockers(
  trx: Trx,
  { repositoryId, number }: IssueAt,
  blockers: readonly ForeignBlocker[],
): Promise<boolean> {
  const rows = JSON.stringify(
    blockers.map((blocker) => ({
      repo: blocker.repositoryId,
      target: blocker.target,
      open: blocker.open,
      reason: blocker.stateReason,
    })),
  );
  const gone = await sql`
    delete from foreign_blocker f where f.repository_id = ${repositoryId} and f.number = ${number}
      and not exists (select 1 from jsonb_to_recordset(${rows}::jsonb) as t (repo bigint, target text)
        where t.repo = f.target_repository_id and t.target = f.target)`.execute(trx);
  const isLess = (gone.numAffectedRows ?? 0n) > 0n;
  if (blockers.length === 0) return isLess;
  const written = await sql`
    insert into foreign_blocker as f (repository_id, number, target_repository_id, target, open, state_reason)
    select ${repositoryId}, ${number}, t.repo, t.target, t.open, t.reason
    from jsonb_to_recordset(${rows}::jsonb) as t (repo bigint, target text, open boolean, reason text)
    on conflict (repository_id, number, target_repository_id, target)
      do update set open = excluded.open, state_reason = excluded.state_reason
      where (f.open, f.state_reason) is distinct from (excluded.open, excluded.state_reason)`.execute(trx);
  return isLess || (written.numAffectedRows ?? 0n) > 0n;
}

/**
 * The list is read anew at once, whatever mark it had: what was told last may be older than the answer with that mark, and
 * GitHub would not tell that one again.
 */
export async function readForeignAgain(trx: Trx, { repositoryId, number }: IssueAt): Promise<void> {
  await trx
    .updateTable("foreign_reading")
    .set({ etag: null, due_at: dbNow })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .execute();
}

/** Notes how the reading went: the answer's mark, or why it failed, and when it is tried again, if that is not its usual time. */
export async function noteForeignReading(
  db: Db,
  { repositoryId, number }: IssueAt,
  { etag, error, againIn = null }: { etag: string | null; error: string | null; againIn?: number | null },
): Promise<void> {
  await db
    .updateTable("foreign_reading")
    .set({
      etag,
      error,
      ...(againIn === null ? {} : { due_at: sql<Date>`least(due_at, ${dbNowPlus(againIn)})` }),
    })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .execute();
}
