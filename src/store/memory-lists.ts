/** Lists of memory records: topics, the records of one topic, and those that have expired. */

import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Scope } from "../domain/scope.ts";
import type { Db, Trx } from "./database.ts";
import { seesRecord } from "./reach.ts";
import type { MemoryRecord } from "./records.ts";

/** What every reader of records goes by: what has expired is not there. `r` is the record. */
export const isThere = sql<SqlBool>`(r.expires_at is null or r.expires_at > db_now())`;

/** What a scope reaches of the records of a repository that the caller may see. `r` is the record. */
export const reachesRecord = (scope: Scope | null): RawBuilder<SqlBool> =>
  seesRecord({ repositories: null, scope }, sql.ref("r.repository_id"), sql.ref("r.topic"), sql.ref("r.id"));

export interface TopicCount {
  readonly topic: string;
  /** Exact up to `mostCounted`. */
  readonly records: number;
}

/**
 * Topics after `after`, by name, with what is there of each. The names are stepped through by the primary key, so that
 * it does not matter how many records they hold. Answers the last name looked at too: a topic of which all has expired
 * is left out.
 */
export async function listTopics(
  db: Db,
  repositoryId: number,
  scope: Scope | null,
  page: { after: string; limit: number; mostCounted: number },
): Promise<{ topics: TopicCount[]; last: string | null }> {
  const { rows } = await sql<TopicCount>`
    with recursive name (topic, n) as (
      (select r.topic, 1 from record r where r.repository_id = ${repositoryId} and r.topic > ${page.after}
       order by r.topic limit 1)
      union all
      select (select r.topic from record r where r.repository_id = ${repositoryId} and r.topic > name.topic
              order by r.topic limit 1), name.n + 1
      from name where name.topic is not null and name.n < ${page.limit})
    select name.topic, (select count(*) from (
        select 1 from record r where r.repository_id = ${repositoryId} and r.topic = name.topic
          and ${isThere} and ${reachesRecord(scope)} limit ${page.mostCounted}) as counted)::int as records
    from name where name.topic is not null order by name.topic`.execute(db);
  const last = rows.length === page.limit ? (rows.at(-1)?.topic ?? null) : null;
  return { topics: rows.filter(({ records }) => records > 0), last };
}

/** A page of bodies that is longer than this, in bytes, ends early; one record is always in it. */
const MOST_BYTES = 4_000_000;

/** The records of a topic after `after`, by id, with their links. */
export async function scanRecords(
  db: Db,
  at: { repositoryId: number; topic: string },
  scope: Scope | null,
  page: { after: string; limit: number },
): Promise<MemoryRecord[]> {
  const { rows } = await sql<MemoryRecord>`
    with page as (
      select r.*, sum(coalesce(octet_length(r.body), 0)) over (order by r.id) - coalesce(octet_length(r.body), 0) as before
      from (
        select * from record r
        where r.repository_id = ${at.repositoryId} and r.topic = ${at.topic} and r.id > ${page.after}
          and ${isThere} and ${reachesRecord(scope)}
        order by r.id limit ${page.limit}) as r)
    select r.topic, r.id, r.kind, r.title, r.body, r.author, r.provenance, r.tags, r.expires_at as "expiresAt",
      r.created_at as "createdAt", r.updated_at as "updatedAt", r.written_by as "writtenBy",
      (select coalesce(json_agg(json_build_object('relation', l.relation, 'repositoryId', l.target_repository_id,
           'target', l.target) order by l.relation, l.created_at, l.target), '[]')
         from record_link l where l.repository_id = r.repository_id and l.topic = r.topic and l.id = r.id) as links
    from page r where r.before < ${MOST_BYTES} order by r.id`.execute(db);
  return rows;
}

/** Whether anything of the topic is there after `id`. */
export async function hasMore(
  db: Db,
  at: { repositoryId: number; topic: string },
  scope: Scope | null,
  id: string,
): Promise<boolean> {
  const { rows } = await sql`
    select 1 from record r where r.repository_id = ${at.repositoryId} and r.topic = ${at.topic} and r.id > ${id}
      and ${isThere} and ${reachesRecord(scope)} limit 1`.execute(db);
  return rows.length > 0;
}

/**
 * Removes records that have expired, at most so many, and answers how many. The claim's mark stays. Who writes to one
 * of them meanwhile is not waited for. Items never expire: one that has a time is a defect, and is told of.
 */
export async function removeExpired(trx: Trx, most: number): Promise<number> {
  const { rows } = await sql<{ removed: number }>`
    with expired as (
      select repository_id, topic, id from record
      where expires_at <= db_now() and topic <> 'backlog'
      order by expires_at limit ${most} for update skip locked),
    gone as (
      delete from record r using expired e
      where r.repository_id = e.repository_id and r.topic = e.topic and r.id = e.id
      returning r.repository_id, r.topic, r.id),
    links as (
      delete from record_link l using gone g
      where l.repository_id = g.repository_id and l.topic = g.topic and l.id = g.id)
    select count(*)::int as removed from gone`.execute(trx);
  return rows[0]?.removed ?? 0;
}
