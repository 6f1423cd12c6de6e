/** Memory records and their links (protocol 2). */

import { sql } from "kysely";
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
}

export interface RecordLink extends LinkTarget {
  readonly relation: string;
}

/** Serialises everything that decides on a record: claims, fenced writes, transitions (protocol 4). */
export async function lockRecord(trx: Trx, ref: RecordRef): Promise<void> {
  const name = `${ref.repositoryId}/${ref.topic}/${ref.id}`;
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 7203))`.execute(trx);
}

/** The record, unless it is absent or expired. */
export async function findRecord(db: Db, ref: RecordRef): Promise<MemoryRecord | null> {
  const row = await db
    .selectFrom("record")
    .selectAll()
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", dbNow)]))
    .executeTakeFirst();
  if (!row) return null;
  return {
    topic: row.topic,
    id: row.id,
    kind: row.kind,
    title: row.title,
    body: row.body,
    author: row.author,
    provenance: row.provenance,
    tags: row.tags,
    links: await linksOf(db, ref),
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export interface RecordScalars {
  readonly kind: string;
  readonly title: string | null;
  readonly body: string | null;
  readonly author: string | null;
  readonly provenance: string | null;
  readonly tags: readonly string[];
  readonly expiresAt: Date | null;
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

/** Forgets the record and its links. The claim's mark stays. False: there was none. */
export async function deleteRecord(trx: Trx, ref: RecordRef): Promise<boolean> {
  await trx
    .deleteFrom("record_link")
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .execute();
  const { numDeletedRows } = await trx
    .deleteFrom("record")
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Lets the record lapse after so many seconds. */
export async function lapseRecord(trx: Trx, ref: RecordRef, seconds: number): Promise<void> {
  await trx
    .updateTable("record")
    .set({ expires_at: sql<Date>`db_now() + make_interval(secs => ${seconds})`, updated_at: dbNow })
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .execute();
}

async function linksOf(db: Db, ref: RecordRef): Promise<RecordLink[]> {
  const rows = await db
    .selectFrom("record_link")
    .select(["relation", "target_repository_id", "target"])
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .orderBy("relation")
    .orderBy("created_at")
    .orderBy("target")
    .execute();
  return rows.map((row) => ({
    relation: row.relation,
    repositoryId: row.target_repository_id,
    target: row.target,
  }));
}

export async function addLinks(trx: Trx, ref: RecordRef, links: readonly RecordLink[]): Promise<void> {
  if (links.length === 0) return;
  await trx
    .insertInto("record_link")
    .values(
      links.map((link) => ({
        repository_id: ref.repositoryId,
        topic: ref.topic,
        id: ref.id,
        relation: link.relation,
        target_repository_id: link.repositoryId,
        target: link.target,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function removeLinks(trx: Trx, ref: RecordRef, links: readonly RecordLink[]): Promise<void> {
  for (const link of links) {
    await trx
      .deleteFrom("record_link")
      .where("repository_id", "=", ref.repositoryId)
      .where("topic", "=", ref.topic)
      .where("id", "=", ref.id)
      .where("relation", "=", link.relation)
      .where("target_repository_id", "=", link.repositoryId)
      .where("target", "=", link.target)
      .execute();
  }
}

/**
 * A chain of `blockedBy` edges that leads from one item to another, both ends included, or null. Edges into
 * other repositories are followed too.
 */
export async function blockingPath(
  trx: Trx,
  from: { repositoryId: number; target: string },
  to: { repositoryId: number; target: string },
): Promise<string[] | null> {
  const { rows } = await sql<{ path: string[] }>`
    with recursive walk (repository_id, target, path) as (
      select ${from.repositoryId}::bigint, ${from.target}::text, array[${from.target}::text]
      union all
      select l.target_repository_id, l.target, w.path || l.target
      from walk w join record_link l
        on l.repository_id = w.repository_id and 'mem/' || l.topic || '/' || l.id = w.target and l.relation = 'blockedBy'
      where not l.target = any (w.path)
    ) cycle repository_id, target set looped using visited
    select path from walk where repository_id = ${to.repositoryId} and target = ${to.target} limit 1`.execute(
    trx,
  );
  return rows[0]?.path ?? null;
}

/** Edges are authored one at a time per repository, so that two halves of a cycle cannot slip in together. */
export async function lockEdges(trx: Trx, repositoryId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`edges/${repositoryId}`}, 7203))`.execute(trx);
}
