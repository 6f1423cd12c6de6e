/** The graph of links around records, in both directions, a step at a time. */

import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { LinkTarget } from "../domain/record-key.ts";
import type { Scope } from "../domain/scope.ts";
import type { Db } from "./database.ts";
import { isThere } from "./memory-lists.ts";
import { seesRecord } from "./reach.ts";

/** A link between two places; `from` is always a record. */
export interface GraphLink {
  readonly relation: string;
  readonly from: LinkTarget;
  readonly to: LinkTarget;
}

/** What is known of a place in the graph. */
export interface PlaceFacts extends LinkTarget {
  /** `owner/name`, where the repository is known. */
  readonly fullName: string | null;
  /** Null: it is no record, or one of a repository that is not known here. */
  readonly exists: boolean | null;
  readonly kind: string | null;
  readonly title: string | null;
  readonly number: number | null;
  readonly url: string | null;
  readonly state: "complete" | "parked" | "cancelled" | null;
  readonly tags: readonly string[] | null;
}

/** Links of at most so many rows each way that leave these places or come to them. Expired records have none. */
export async function linksAround(
  db: Db,
  places: readonly LinkTarget[],
  relation: string | undefined,
  most: number,
): Promise<GraphLink[]> {
  const asked = sql`unnest(${places.map((place) => place.repositoryId)}::bigint[],
    ${places.map((place) => place.target)}::text[]) as n (repository_id, target)`;
  const wanted: RawBuilder<SqlBool> =
    relation === undefined ? sql<SqlBool>`true` : sql<SqlBool>`l.relation = ${relation}`;
  const columns = sql`l.relation, l.repository_id as from_id, 'mem/' || l.topic || '/' || l.id as from_target,
    l.target_repository_id as to_id, l.target as to_target, l.created_at`;
  const record = sql`join record r on r.repository_id = l.repository_id and r.topic = l.topic and r.id = l.id`;
  const { rows } = await sql<{
    relation: string;
    from_id: number;
    from_target: string;
    to_id: number;
    to_target: string;
  }>`
    (select ${columns} from ${asked}
     join record_link l on l.repository_id = n.repository_id and l.topic = split_part(n.target, '/', 2)
       and l.id = split_part(n.target, '/', 3) ${record}
     where n.target like 'mem/%' and ${wanted} and ${isThere}
     order by l.created_at, l.relation, l.target limit ${most})
    union
    (select ${columns} from ${asked}
     join record_link l on l.target_repository_id = n.repository_id and l.target = n.target ${record}
     where ${wanted} and ${isThere}
     order by l.created_at, l.relation, l.repository_id, l.topic, l.id limit ${most})
    order by created_at, relation, from_id, from_target, to_id, to_target`.execute(db);
  return rows.map((row) => ({
    relation: row.relation,
    from: { repositoryId: row.from_id, target: row.from_target },
    to: { repositoryId: row.to_id, target: row.to_target },
  }));
}

/**
 * What these places are, in no order. Left out is what the caller may not see: items out of its scope, and all of
 * repositories other than those it may see (null: all).
 */
export async function placeFacts(
  db: Db,
  places: readonly LinkTarget[],
  sees: { readonly scope: Scope | null; readonly repositories: ReadonlySet<number> | null },
): Promise<PlaceFacts[]> {
  const visible =
    sees.repositories === null
      ? sql<SqlBool>`true`
      : sql<SqlBool>`n.repository_id = any (${[0, ...sees.repositories]}::bigint[])`;
  const inScope =
    sees.scope === null
      ? sql<SqlBool>`true`
      : // A file is no secret of a scope, and what is not known here cannot be looked at anyway.
        sql<SqlBool>`(n.target not like 'mem/%' or ${seesRecord(
          { repositories: null, scope: sees.scope },
          sql.ref("n.repository_id"),
          sql.ref("n.topic"),
          sql.ref("n.id"),
        )})`;
  const { rows } = await sql<PlaceFacts>`
    select n.repository_id as "repositoryId", n.target, f.owner || '/' || f.name as "fullName",
      case when n.target like 'mem/%' and n.repository_id <> 0 then r.id is not null and ${isThere} end as exists,
      case when ${isThere} then r.kind end as kind,
      coalesce(s.title, case when ${isThere} then r.title end) as title, s.number, s.html_url as url, i.state,
      case when ${isThere} then r.tags end as tags
    from (select n.*, split_part(n.target, '/', 2) as topic, split_part(n.target, '/', 3) as id
          from unnest(${places.map((place) => place.repositoryId)}::bigint[],
            ${places.map((place) => place.target)}::text[]) as n (repository_id, target)) as n
    left join repository f on f.id = n.repository_id
    left join record r on r.repository_id = n.repository_id and r.topic = n.topic and r.id = n.id
      and n.target like 'mem/%'
    left join issue s on s.repository_id = n.repository_id and s.number = target_number(n.target)
    left join item i on i.repository_id = s.repository_id and i.number = s.number
    where ${visible} and ${inScope}`.execute(db);
  return rows;
}
