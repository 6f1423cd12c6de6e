/** The blast radii of items (protocol 6, step 11), as the store can tell them quickly. */

import { sql } from "kysely";
import type { Db } from "./database.ts";

export interface ItemRadius {
  readonly number: number;
  readonly radius: readonly string[];
  /** Work on it lies in a pull request that is open. */
  readonly hasPull: boolean;
}

export interface RadiusInFlight extends Omit<ItemRadius, "hasPull"> {
  /** Under an unexpired lease, or lapsed but active; else only its pull request is open. */
  readonly atWork: boolean;
}

const anchors = sql`array(select substr(l.target, 6) from record_link l
  where l.repository_id = i.repository_id and l.topic = 'backlog' and l.id = 'issue-' || i.number
    and l.relation = 'anchoredTo' and l.target_repository_id = i.repository_id and l.target like 'file/%')`;

/** Of these items; research touches nothing. */
export async function radiiOf(
  db: Db,
  repositoryId: number,
  numbers: readonly number[],
): Promise<ItemRadius[]> {
  const { rows } = await sql<ItemRadius>`
    select i.number, ${anchors} as radius, i.review is not null as "hasPull" from item i
    where i.repository_id = ${repositoryId} and i.number = any (${[...numbers]}::int[])
      and i.phase is distinct from 'research'`.execute(db);
  return rows;
}

/** Of the items in flight that are anchored at all: worked on, or with their own pull request open. */
export async function radiiInFlight(
  db: Db,
  repositoryId: number,
  quarantineSeconds: number,
): Promise<RadiusInFlight[]> {
  const { rows } = await sql<RadiusInFlight>`
    select * from (
      select i.number, ${anchors} as radius, true as "atWork" from claim c
      join item i on i.repository_id = c.repository_id and i.number = item_number(c.topic, c.id)
      where c.repository_id = ${repositoryId} and c.topic = 'backlog' and c.live
        and i.enrolled and i.state is null and i.phase is distinct from 'research'
        and (c.lease_expires_at > db_now() or (i.active_at > c.lease_expires_at and db_now() <
          least(i.active_at + make_interval(secs => ${quarantineSeconds}), c.lease_expires_at + interval '1 hour')))
      union all
      select i.number, ${anchors}, false from item i
      where i.repository_id = ${repositoryId} and i.review is not null
        and i.enrolled and i.state is null and i.phase is distinct from 'research'
    ) as flights where cardinality(radius) > 0`.execute(db);
  return rows;
}
