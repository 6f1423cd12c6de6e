/** What GitHub said last of its own links between issues. A trigger keeps `record_link`, the union, in step. */

import { sql } from "kysely";
import type { KnownEdge, NativeRelation } from "../domain/native-edges.ts";
import { BACKLOG, itemId, type LinkTarget } from "../domain/record-key.ts";
import type { Db, Trx } from "./database.ts";

/** An issue by its place, whether its repository is known here or not. */
export interface IssueAt {
  readonly repositoryId: number;
  readonly number: number;
}

export interface NativeEdge extends KnownEdge, LinkTarget {
  readonly relation: NativeRelation;
  /** GitHub's id of the target, where it is known. */
  readonly targetId: number | null;
}

/** Everything that was said of an issue's edges of one relation, removed ones included. */
export async function nativeEdgesOf(
  db: Db,
  { repositoryId, number }: IssueAt,
  relation: NativeRelation,
): Promise<NativeEdge[]> {
  const rows = await db
    .selectFrom("native_link")
    .selectAll()
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .where("relation", "=", relation)
    .orderBy("target_repository_id")
    .orderBy("target")
    .execute();
  return rows.map((row) => ({
    relation,
    repositoryId: row.target_repository_id,
    target: row.target,
    targetId: row.target_id,
    present: row.present,
    saidAt: row.said_at,
    endAt: row.end_at,
  }));
}

export async function saveNativeEdge(trx: Trx, from: IssueAt, edge: NativeEdge): Promise<void> {
  const facts = {
    present: edge.present,
    said_at: edge.saidAt,
    end_at: edge.endAt,
    ...(edge.targetId === null ? {} : { target_id: edge.targetId }),
  };
  await trx
    .insertInto("native_link")
    .values({
      repository_id: from.repositoryId,
      number: from.number,
      relation: edge.relation,
      target_repository_id: edge.repositoryId,
      target: edge.target,
      ...facts,
    })
    .onConflict((conflict) =>
      conflict
        .columns(["repository_id", "number", "relation", "target_repository_id", "target"])
        .doUpdateSet(facts),
    )
    .execute();
}

/** Whether the edge is there, by GitHub's word or by ours. */
export async function hasEdge(
  db: Db,
  from: IssueAt,
  edge: LinkTarget & { relation: string },
): Promise<boolean> {
  const row = await db
    .selectFrom("record_link")
    .select("relation")
    .where("repository_id", "=", from.repositoryId)
    .where("topic", "=", BACKLOG)
    .where("id", "=", itemId(from.number))
    .where("relation", "=", edge.relation)
    .where("target_repository_id", "=", edge.repositoryId)
    .where("target", "=", edge.target)
    .executeTakeFirst();
  return row !== undefined;
}

/** Where a transferred issue went, as often as it was moved on; itself when it was not. */
export async function followMoves(db: Db, at: IssueAt): Promise<IssueAt> {
  const { rows } = await sql<IssueAt>`
    with recursive moves (repository_id, number, step) as (
      select ${at.repositoryId}::bigint, ${at.number}::int, 0
      union all
      select m.to_repository_id, m.to_number, s.step + 1 from moves s
      join moved_issue m on m.repository_id = s.repository_id and m.number = s.number
      where s.step < 50)
    select repository_id as "repositoryId", number from moves order by step desc limit 1`.execute(db);
  return rows[0] ?? at;
}

/** Remembers a transfer and takes the edges along. `id`: GitHub's id of the issue at its new place. */
export async function moveIssueLinks(trx: Trx, from: IssueAt, to: IssueAt, id: number): Promise<void> {
  await trx
    .insertInto("moved_issue")
    .values({
      repository_id: from.repositoryId,
      number: from.number,
      to_repository_id: to.repositoryId,
      to_number: to.number,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await sql`select move_links(${from.repositoryId}, ${from.number}, ${to.repositoryId}, ${to.number}, ${id})`.execute(
    trx,
  );
}

/** Whether the issue's place is empty for good: deleted, transferred or converted. */
export async function isGone(db: Db, at: IssueAt): Promise<boolean> {
  const row = await db
    .selectFrom("issue")
    .select("gone")
    .where("repository_id", "=", at.repositoryId)
    .where("number", "=", at.number)
    .executeTakeFirst();
  return row?.gone != null;
}

/** An issue of the mirror by GitHub's id, or null. */
export async function findIssueById(db: Db, id: number): Promise<IssueAt | null> {
  const row = await db
    .selectFrom("issue")
    .select(["repository_id", "number"])
    .where("id", "=", id)
    .where("gone", "is", null)
    .executeTakeFirst();
  return row ? { repositoryId: row.repository_id, number: row.number } : null;
}

/** Issues of the repository that others are blocked by and that the mirror lacks, by number. */
export async function unmirroredBlockers(
  db: Db,
  repositoryId: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`
    select distinct l.target_number as number from record_link l
    where l.target_repository_id = ${repositoryId} and l.relation = 'blockedBy' and l.target_number > ${after}
      and not exists (select 1 from issue s where s.repository_id = l.target_repository_id and s.number = l.target_number)
      and not exists (select 1 from pull_request p
        where p.repository_id = l.target_repository_id and p.number = l.target_number)
    order by 1 limit ${limit}`.execute(db);
  return rows.map(({ number }) => number);
}
