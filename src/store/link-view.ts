/** Edges at one item, in both directions, with what is known of their other ends; a page at a time. */

import { type RawBuilder, sql } from "kysely";
import { BACKLOG, itemId, type LinkTarget } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import type { Db } from "./database.ts";
import type { IssueAt } from "./native-links.ts";
import { sees, seesRecord } from "./reach.ts";

/** An edge as seen from one of its ends. */
export interface LinkRow {
  readonly relation: string;
  /** The other end; repository 0 when it is not known here. */
  readonly repositoryId: number;
  /** `mem/<topic>/<id>`, or the whole key. */
  readonly target: string;
  readonly number: number | null;
  readonly fullName: string | null;
  readonly title: string | null;
  readonly url: string | null;
  readonly state: "complete" | "parked" | "cancelled" | null;
  readonly own: boolean;
  readonly native: boolean;
}

/** The place of an incoming edge in its order. */
export type IncomingKey = readonly [
  repositoryId: number,
  number: number,
  topic: string,
  id: string,
  relation: string,
];

const NO_NUMBER = 2_147_483_647;

export const incomingKey = (row: LinkRow): IncomingKey => {
  const [, topic = "", id = ""] = row.target.split("/");
  return [row.repositoryId, row.number ?? NO_NUMBER, topic, id, row.relation];
};

/**
 * Who links to an item or a record: items by number, then other records. `which`: any relation, or the items of one.
 * Ends in repositories that are not known here are left out, for nobody could say where they are, and those out of sight.
 */
export async function incomingLinks(
  db: Db,
  at: LinkTarget,
  which: "any" | "partOf" | "blockedBy",
  after: IncomingKey | null,
  limit: number,
  view: View,
): Promise<LinkRow[]> {
  const order = sql`l.repository_id, coalesce(l.number, ${NO_NUMBER}), l.topic, l.id, l.relation`;
  const wanted: RawBuilder<unknown>[] = [
    sql`l.target_repository_id = ${at.repositoryId} and l.target = ${at.target}`,
    seesRecord(view, sql.ref("l.repository_id"), sql.ref("l.topic"), sql.ref("l.id")),
  ];
  if (which !== "any") wanted.push(sql`l.relation = ${which} and i.enrolled`);
  if (after !== null) {
    const [repositoryId, number, topic, id, relation] = after;
    wanted.push(sql`(${order}) > (${repositoryId}::bigint, ${number}::int, ${topic}, ${id}, ${relation})`);
  }
  const { rows } = await sql<LinkRow>`
    select l.relation, l.repository_id as "repositoryId", 'mem/' || l.topic || '/' || l.id as target, l.number,
      f.owner || '/' || f.name as "fullName", coalesce(s.title, r.title) as title, s.html_url as url, i.state,
      l.own, l.native
    from record_link l
    join repository f on f.id = l.repository_id
    left join record r on r.repository_id = l.repository_id and r.topic = l.topic and r.id = l.id
    left join issue s on s.repository_id = l.repository_id and s.number = l.number
    left join item i on i.repository_id = l.repository_id and i.number = l.number
    where ${sql.join(wanted, sql` and `)} and (r.expires_at is null or r.expires_at > db_now())
    order by ${order} limit ${limit}`.execute(db);
  return rows;
}

/** The place of an outgoing edge in its order. */
export type OutgoingKey = readonly [repositoryId: number, target: string];

/** What the item's edges of one relation point at; those into the unknown first. */
export async function outgoingLinks(
  db: Db,
  at: IssueAt,
  relation: "partOf" | "blockedBy",
  after: OutgoingKey | null,
  limit: number,
  view: View,
): Promise<LinkRow[]> {
  const from = after ?? [Number.MIN_SAFE_INTEGER, ""];
  const { rows } = await sql<LinkRow>`
    select l.relation, l.target_repository_id as "repositoryId", l.target, l.target_number as number,
      f.owner || '/' || f.name as "fullName", s.title, s.html_url as url, i.state, l.own, l.native
    from record_link l
    left join repository f on f.id = l.target_repository_id
    left join issue s on s.repository_id = l.target_repository_id and s.number = l.target_number
    left join item i on i.repository_id = l.target_repository_id and i.number = l.target_number
    where l.repository_id = ${at.repositoryId} and l.topic = ${BACKLOG} and l.id = ${itemId(at.number)}
      and l.relation = ${relation} and (l.target_repository_id, l.target) > (${from[0]}::bigint, ${from[1]})
      and ${sees(view, sql.ref("l.target_repository_id"), sql.ref("l.target_number"))}
    order by l.target_repository_id, l.target limit ${limit}`.execute(db);
  return rows;
}

/** What the item is part of, its parent first, up to the root. Of several parents the first that was had counts. */
export async function epicsAbove(db: Db, at: IssueAt, view: View): Promise<LinkRow[]> {
  const { rows } = await sql<LinkRow>`
    with recursive up (repository_id, number, depth, path) as (
      select ${at.repositoryId}::bigint, ${at.number}::int, 0, array[${at.repositoryId} || '#' || ${at.number}]
      union all
      select p.target_repository_id, p.target_number, u.depth + 1,
        u.path || (p.target_repository_id || '#' || p.target_number)
      from up u cross join lateral (
        select l.target_repository_id, l.target_number from record_link l
        where l.repository_id = u.repository_id and l.number = u.number and l.relation = 'partOf'
          and l.target_number is not null
        order by l.created_at, l.target limit 1) as p
      where u.depth < 50 and not (p.target_repository_id || '#' || p.target_number) = any (u.path))
    select 'partOf' as relation, u.repository_id as "repositoryId", 'mem/backlog/issue-' || u.number as target,
      u.number, f.owner || '/' || f.name as "fullName", s.title, s.html_url as url, i.state,
      false as own, false as native
    from up u
    left join repository f on f.id = u.repository_id
    left join issue s on s.repository_id = u.repository_id and s.number = u.number
    left join item i on i.repository_id = u.repository_id and i.number = u.number
    where u.depth > 0 and ${sees(view, sql.ref("u.repository_id"), sql.ref("u.number"))} order by u.depth`.execute(
    db,
  );
  return rows;
}
