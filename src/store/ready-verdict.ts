/**
 * Whether anything starves when nothing is ready (`verdictOf` in domain/ready-set.ts, which a property test holds this
 * against): told without reading the items, from what is kept on their rows and from their open edges.
 */

import { sql } from "kysely";
import { preparedRows, unseen } from "./call.ts";
import type { Db } from "./database.ts";

export interface Rest {
  /** Of an item that nobody works on nothing but a person's hand moves. */
  readonly isStuck: boolean;
  /** Something moves by itself: it is in flight, or waits for people, checks, or another region. */
  readonly hasMover: boolean;
}

/** What the live items' own rows say. `flying`: the items in flight. */
export async function restOf(
  db: Db,
  repositoryId: number,
  flying: readonly number[],
  { poisonThreshold }: { readonly poisonThreshold: number },
): Promise<Rest> {
  const live = sql`i.repository_id = ${repositoryId} and i.enrolled and i.state is null`;
  // Part of the text, not a parameter: so the statement is planned once.
  const everyClaim = sql`union select item_number(c.topic, c.id) from claim c
    where c.repository_id = ${repositoryId} and c.topic = 'backlog'`;
  const resting = sql`not i.number = any (${unseen(flying, "int")})`;
  const [row] = await preparedRows(
    db,
    sql<Rest>`
      -- Found before their attempts are counted: counted in a scan, it would be those of every item.
      with tried as materialized (
        select item_number(c.topic, c.id) as number from claim c
        where c.repository_id = ${repositoryId} and c.topic = 'backlog' and c.grants > 1
        ${poisonThreshold <= 1 ? everyClaim : sql``}
        union select t.number from item t where t.repository_id = ${repositoryId} and t.threshold = 1
        union select d.number from defect d where d.repository_id = ${repositoryId} and d.code = 'marker_without_grant'),
      suspected as materialized (
        select i.repository_id, i.number, i.attempts_after, i.threshold from tried t join item i on i.repository_id = ${repositoryId} and i.number = t.number
        where ${live} and i.review is distinct from 'in_review' and ${resting})
      select exists (select 1 from item i where ${live} and (not i.issue_open or i.hold_at is not null or i.flawed)
          and ${resting})
        or exists (select 1 from item i where ${live} and i.open_blockers > 0 and ${resting}
          and exists (select 1 from record_link l
            where l.repository_id = i.repository_id and l.number = i.number and l.relation = 'blockedBy'
              -- Most blockers are live; only of the others it is asked what they mean.
              and case when exists (select 1 from item b where b.repository_id = l.target_repository_id
                  and b.number = l.target_number and l.target_repository_id = i.repository_id and b.enrolled
                  and b.state is null) then false
                else not edge_satisfied(l.repository_id, l.number, l.target_repository_id, l.target) end))
        or exists (select 1 from suspected i
          where attempts_of(i.repository_id, i.number, i.attempts_after) >= coalesce(i.threshold, ${poisonThreshold}::int))
        as "isStuck",
      exists (select 1 from item i where ${live} and ((i.open_blockers = 0 and i.hold_at is null and not i.grouping
          and not (i.integrates is not null and fan_out_open(i.repository_id, i.integrates, i.number, db_now()))
          and not exists (select 1 from item n where n.repository_id = i.repository_id and n.integrates = any (i.ancestors)
            and n.number <> i.number and held(n.repository_id, n.number, db_now()) is not null))
        or not ${resting})) as "hasMover"`.compile(db),
  );
  if (!row) throw new Error("PostgreSQL said nothing of the items at rest");
  return row;
}

/** The open edges between live items, of those that are not in flight: each waits for the other. */
export async function openEdges(
  db: Db,
  repositoryId: number,
  flying: readonly number[],
): Promise<{ from: number; to: number }[]> {
  return preparedRows(
    db,
    sql<{ from: number; to: number }>`
      select i.number as from, b.number as to from item i
      join record_link l on l.repository_id = i.repository_id and l.number = i.number and l.relation = 'blockedBy'
        and l.target_repository_id = i.repository_id
      join item b on b.repository_id = i.repository_id and b.number = l.target_number and b.enrolled and b.state is null
      where i.repository_id = ${repositoryId} and i.enrolled and i.state is null and i.open_blockers > 0
        and not i.number = any (${unseen(flying, "int")})`.compile(db),
  );
}
