/** Which branches are to be read for what is anchored on them, and who reads (protocol 11). */

import { sql } from "kysely";
import { dbNowPlus } from "./clock.ts";
import type { Db } from "./database.ts";
import { askItemChecks } from "./item-checks.ts";

/** A reading is a few requests; of a tree that GitHub does not list whole it is many. */
const LEASE_SECONDS = 900;
/** What no push told of is found within a day. */
const RECONCILE_SECONDS = 86_400;

export interface DueBranch {
  readonly repositoryId: number;
  readonly installationId: number;
  readonly name: string;
  /** Up to where this reading will have done what was wanted. */
  readonly wanted: number;
  readonly seen: string | null;
}

/**
 * Leases a branch that is to be read: something anchored on it was not read yet, a push called for it, or the last
 * reading is a day old. Null: there is none, or another process was faster.
 */
export async function takeDueBranch(db: Db, reader: string): Promise<DueBranch | null> {
  const { rows } = await sql<DueBranch>`
    with due as (
      select r.id, r.installation_id, d.name
      from repository r
      join installation i on i.id = r.installation_id and i.suspended_at is null and i.removed_at is null
        and coalesce(i.paused_until, '-infinity') <= db_now()
      cross join lateral (
        select a.branch as name, 0 as rank from anchor a where a.target_repository_id = r.id and a.read_at is null
        union all
        select b.name, 1 from anchored_branch b where b.repository_id = r.id and b.wanted > b.done
        union all
        select b.name, 2 from anchored_branch b where b.repository_id = r.id
          and b.read_at < db_now() - make_interval(secs => ${RECONCILE_SECONDS})) as d
      where r.installed and r.current_name
        and exists (select 1 from anchor a where a.target_repository_id = r.id and a.branch = d.name)
        and not exists (select 1 from anchored_branch b where b.repository_id = r.id and b.name = d.name
          and b.reader_until > db_now())
      order by d.rank limit 1),
    leased as (
      insert into anchored_branch as b (repository_id, name, reader, reader_until)
      select id, name, ${reader}, db_now() + make_interval(secs => ${LEASE_SECONDS}) from due
      on conflict (repository_id, name) do update set reader = excluded.reader, reader_until = excluded.reader_until
        where b.reader_until is null or b.reader_until <= db_now()
      returning repository_id, name, wanted, seen_sha)
    select l.repository_id as "repositoryId", due.installation_id as "installationId", l.name, l.wanted,
      l.seen_sha as seen
    from leased l join due on due.id = l.repository_id and due.name = l.name`.execute(db);
  return rows[0] ?? null;
}

export interface AnchorRow {
  readonly repositoryId: number;
  readonly topic: string;
  readonly id: string;
  readonly target: string;
  readonly asked: number;
  readonly sinceSha: string | null;
  readonly captured: string | null;
  readonly current: string | null;
  /** Null: it is to be read. */
  readonly readAt: Date | null;
}

/** Everything anchored on the branch, in any record. */
export async function anchorsAt(db: Db, { repositoryId, name }: DueBranch): Promise<AnchorRow[]> {
  const { rows } = await sql<AnchorRow>`
    select repository_id as "repositoryId", topic, id, target, asked, since_sha as "sinceSha", captured, current,
      read_at as "readAt"
    from anchor where target_repository_id = ${repositoryId} and branch = ${name}`.execute(db);
  return rows;
}

export interface AnchorNews extends Pick<AnchorRow, "repositoryId" | "topic" | "id" | "target" | "asked"> {
  readonly captured: string | null;
  readonly current: string | null;
  readonly drifted: boolean;
  /** The item whose defects may be others now; null: none. */
  readonly item: number | null;
}

/**
 * Stores what is news. Nobody is waited for, who may have more than one item or record locked: what is being written to
 * just now is answered, to be tried again; so is what was asked for anew meanwhile. Null: the lease was lost.
 */
export async function saveNews(
  db: Db,
  branch: DueBranch,
  reader: string,
  news: readonly AnchorNews[],
): Promise<AnchorNews[] | null> {
  return db.transaction().execute(async (trx) => {
    const lease = await sql`
      select 1 from anchored_branch
      where repository_id = ${branch.repositoryId} and name = ${branch.name} and reader = ${reader}
      for update`.execute(trx);
    if (lease.rows.length === 0) return null;
    const { rows } = await sql<{ index: number }>`
      with news as (
        select n.*, o.index from jsonb_array_elements(${JSON.stringify(news)}::jsonb) with ordinality as o (value, index),
          jsonb_to_record(o.value) as n ("repositoryId" bigint, topic text, id text, target text, asked integer,
            captured text, current text, drifted boolean, item integer)),
      items as (
        select i.repository_id, i.number from item i
        where (i.repository_id, i.number) in (select "repositoryId", item from news where item is not null)
        for update skip locked),
      free as (
        select a.repository_id, a.topic, a.id, a.target from anchor a
        join news n on n."repositoryId" = a.repository_id and n.topic = a.topic and n.id = a.id and n.target = a.target
        where a.target_repository_id = ${branch.repositoryId} and a.asked = n.asked
          and (n.item is null or (n."repositoryId", n.item) in (select repository_id, number from items)
            or not exists (select 1 from item i where i.repository_id = n."repositoryId" and i.number = n.item))
        for update of a skip locked)
      update anchor a set captured = n.captured, current = n.current, read_at = db_now(),
        drifted_at = case when n.drifted then coalesce(a.drifted_at, db_now()) end
      from news n join free f on f.repository_id = n."repositoryId" and f.topic = n.topic and f.id = n.id
        and f.target = n.target
      where a.repository_id = n."repositoryId" and a.topic = n.topic and a.id = n.id
        and a.target_repository_id = ${branch.repositoryId} and a.target = n.target and a.asked = n.asked
      returning n.index`.execute(trx);
    const saved = new Set(rows.map(({ index }) => index - 1));
    await askItemChecks(
      trx,
      news.flatMap(({ repositoryId, item }, index) =>
        item !== null && saved.has(index) ? [{ repositoryId, number: item }] : [],
      ),
    );
    return news.filter((_, index) => !saved.has(index));
  });
}

/** The branch was read at this head, and the lease is given back. It is read again at once if that was not the whole. */
export async function finishReading(
  db: Db,
  branch: DueBranch,
  reader: string,
  { head, isWhole }: { head: string | null; isWhole: boolean },
): Promise<void> {
  await sql`
    update anchored_branch set reader = null, reader_until = null, read_at = db_now(), done = ${branch.wanted},
      wanted = wanted + ${isWhole ? 0 : 1},
      seen_sha = case when seen_sha is not distinct from ${branch.seen}::text then ${head}::text else seen_sha end
    where repository_id = ${branch.repositoryId} and name = ${branch.name} and reader = ${reader}`.execute(
    db,
  );
}

/** Gives the lease back; the branch is not tried again before so many seconds. */
export async function releaseBranch(
  db: Db,
  branch: DueBranch,
  reader: string,
  seconds: number,
): Promise<void> {
  await db
    .updateTable("anchored_branch")
    .set({ reader: null, reader_until: dbNowPlus(seconds) })
    .where("repository_id", "=", branch.repositoryId)
    .where("name", "=", branch.name)
    .where("reader", "=", reader)
    .execute();
}
