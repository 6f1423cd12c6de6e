/** Memory records and their links (protocol 2). */

import { sql } from "kysely";
import { Problem } from "../contract/problem.ts";
import type { LinkTarget, RecordRef } from "../domain/record-key.ts";
import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

export interface MemoryRecord {
  readonly topic: string;
  readonly id: string;
  readonly kind: string;
  readonly title: string | null;
  readonly body: string | null;
  readonly author: string | null;
  readonly provenance: string | null;
  readonly tags: readonly string[];
  readonly links: readonly RecordLink[];
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Whose API token wrote it last; null: Leasehold itself, from what is on GitHub. */
  readonly writtenBy: string | null;
}

export interface RecordLink extends LinkTarget {
  readonly relation: string;
}

/** Serialises everything that decides on a record: claims, fenced writes, transitions (protocol 4). */
export async function lockRecord(trx: Trx, ref: RecordRef): Promise<void> {
  await holdLocalRepository(trx, ref.repositoryId);
  await sql`select pg_advisory_xact_lock(hashtextextended(${lockName(ref)}, 7203))`.execute(trx);
}

/** As `lockRecord`, if nobody has it. */
export async function tryLockRecord(trx: Trx, ref: RecordRef): Promise<boolean> {
  await holdLocalRepository(trx, ref.repositoryId);
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${lockName(ref)}, 7203)) as locked`.execute(trx);
  return rows[0]?.locked ?? false;
}

/** As `tryLockRecord`, of many on GitHub: answers each in its place. So nobody is waited for, in whatever order they come. */
export async function tryLockRecords(trx: Trx, refs: readonly RecordRef[]): Promise<boolean[]> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(t.name, 7203)) as locked
    from unnest(${refs.map(lockName)}::text[]) with ordinality as t (name, place) order by t.place`.execute(
    trx,
  );
  return rows.map(({ locked }) => locked);
}

const lockName = (ref: RecordRef): string => `${ref.repositoryId}/${ref.topic}/${ref.id}`;

/** A repository that lives only here moves to GitHub's id when the App comes: not while it is written to. */
export async function holdLocalRepository(trx: Trx, id: number): Promise<void> {
  if (id >= 0) return;
  const held = await trx
    .selectFrom("repository")
    .select("id")
    .where("id", "=", id)
    .where("current_name", "=", true)
    .forShare()
    .executeTakeFirst();
  if (held) return;
  throw repositoryMoved();
}

/** The repository lived only here, and GitHub's id has just taken the place of its own. */
export const repositoryMoved = (): Problem =>
  new Problem("conflict", "this repository has just been connected to GitHub; send the request again");

/** The record with its links, unless it is absent or expired. */
export async function findRecord(db: Db, ref: RecordRef): Promise<MemoryRecord | null> {
  const { rows } = await sql<MemoryRecord>`
    select r.topic, r.id, r.kind, r.title, r.body, r.author, r.provenance, r.tags, r.expires_at as "expiresAt",
      r.created_at as "createdAt", r.updated_at as "updatedAt", r.written_by as "writtenBy",
      (select coalesce(json_agg(json_build_object('relation', l.relation, 'repositoryId', l.target_repository_id,
           'target', l.target) order by l.relation, l.created_at, l.target), '[]')
         from record_link l where l.repository_id = r.repository_id and l.topic = r.topic and l.id = r.id) as links
    from record r
    where r.repository_id = ${ref.repositoryId} and r.topic = ${ref.topic} and r.id = ${ref.id}
      and (r.expires_at is null or r.expires_at > db_now())`.execute(db);
  return rows[0] ?? null;
}

export interface RecordScalars {
  readonly kind: string;
  readonly title: string | null;
  readonly body: string | null;
  readonly author: string | null;
  readonly provenance: string | null;
  readonly tags: readonly string[];
  readonly expiresAt: Date | null;
  /** As in `MemoryRecord`. */
  readonly writtenBy: string | null;
}

/** Writes the whole record; what had expired under the key is gone, with its links. */
export async function saveRecord(trx: Trx, ref: RecordRef, scalars: RecordScalars): Promise<void> {
  const facts = {
    kind: scalars.kind,
    title: scalars.title,
    body: scalars.body,
    author: scalars.author,
    provenance: scalars.provenance,
    tags: [...scalars.tags],
    expires_at: scalars.expiresAt,
    written_by: scalars.writtenBy,
    updated_at: dbNow,
  };
  await trx
    .insertInto("record")
    .values({ repository_id: ref.repositoryId, topic: ref.topic, id: ref.id, ...facts })
    .onConflict((conflict) => conflict.columns(["repository_id", "topic", "id"]).doUpdateSet(facts))
    .execute();
}

export async function setRecordTags(trx: Trx, ref: RecordRef, tags: readonly string[]): Promise<void> {
  await trx
    .updateTable("record")
    .set({ tags: [...tags], updated_at: dbNow })
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .execute();
}

/**
 * As `setRecordTags`, of many items' records. Their items are written along, as a trigger would one by one: to open the
 * table and its indexes for each costs more than to write the row.
 */
export async function setTagsOfItems(
  trx: Trx,
  items: readonly { repositoryId: number; number: number; tags: readonly string[] }[],
): Promise<void> {
  if (items.length === 0) return;
  const rows = items.map(({ repositoryId, number, tags }) => ({ repository_id: repositoryId, number, tags }));
  await sql`
    with t as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::json) as t (repository_id bigint, number int, tags text[])),
    changed as (
      update item i set tags = t.tags, priority = priority_of(t.tags)
      from t join record r on r.repository_id = t.repository_id and r.topic = 'backlog' and r.id = 'issue-' || t.number
      where i.repository_id = t.repository_id and i.number = t.number)
    update record r set tags = t.tags, updated_at = db_now()
    from t where r.repository_id = t.repository_id and r.topic = 'backlog' and r.id = 'issue-' || t.number`.execute(
    trx,
  );
}

/** Forgets the record and its links, for whose token asks. The claim's mark stays. False: there was none. */
export async function deleteRecord(trx: Trx, ref: RecordRef, actor: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    with links as (
      delete from record_link
      where repository_id = ${ref.repositoryId} and topic = ${ref.topic} and id = ${ref.id})
    delete from record
    where repository_id = ${ref.repositoryId} and topic = ${ref.topic} and id = ${ref.id}
      -- For the event, which the row's own trigger writes.
      and set_config('leasehold.actor', ${actor}, true) is not null`.execute(trx);
  return (numAffectedRows ?? 0n) > 0n;
}

/** Lets the record lapse after so many seconds, for whose token asks. */
export async function lapseRecord(
  trx: Trx,
  ref: RecordRef,
  { seconds, actor }: { readonly seconds: number; readonly actor: string },
): Promise<void> {
  await trx
    .updateTable("record")
    .set({
      expires_at: sql<Date>`db_now() + make_interval(secs => ${seconds})`,
      written_by: actor,
      updated_at: dbNow,
    })
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .execute();
}

/** Adds our edges; one that GitHub has already is then had by both. */
export async function addLinks(trx: Trx, ref: RecordRef, links: readonly RecordLink[]): Promise<void> {
  if (links.length === 0) return;
  // A key in two spellings is one edge, and one statement inserts a row once.
  const distinct = new Map(
    links.map((link) => [`${link.relation} ${link.repositoryId} ${link.target}`, link]),
  );
  await trx
    .insertInto("record_link")
    .values(
      [...distinct.values()].map((link) => ({
        repository_id: ref.repositoryId,
        topic: ref.topic,
        id: ref.id,
        relation: link.relation,
        target_repository_id: link.repositoryId,
        target: link.target,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(["repository_id", "topic", "id", "relation", "target_repository_id", "target"])
        .doUpdateSet({ own: true })
        .where("record_link.own", "=", false),
    )
    .execute();
}

/** Removes our edges. One that GitHub has too stays: only a person takes that away, on the issue. */
export async function removeLinks(trx: Trx, ref: RecordRef, links: readonly RecordLink[]): Promise<void> {
  for (const { relation, repositoryId, target } of links) {
    await sql`
      with native as (
        update record_link set own = false
        where repository_id = ${ref.repositoryId} and topic = ${ref.topic} and id = ${ref.id} and relation = ${relation}
          and target_repository_id = ${repositoryId} and target = ${target} and native)
      delete from record_link
      where repository_id = ${ref.repositoryId} and topic = ${ref.topic} and id = ${ref.id} and relation = ${relation}
        and target_repository_id = ${repositoryId} and target = ${target} and not native`.execute(trx);
  }
}
