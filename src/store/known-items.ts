/** The facts of items that events on their issues are decided by, of many in one statement. */

import { sql } from "kysely";
import { isPriority, type Priority, tagValue } from "../domain/tags.ts";
import type { Db } from "./database.ts";
import { type ItemColumns, type ItemRow, toItemRow } from "./items.ts";

export interface ItemAsked {
  readonly repositoryId: number;
  readonly number: number;
  /** How long its repository keeps others away from a lapsed lease. */
  readonly quarantineSeconds: number;
}

export interface ItemFacts {
  readonly item: ItemRow;
  /** Of its record; none if it has none. */
  readonly tags: readonly string[];
  /** The priority of what it is part of. */
  readonly epicPriority: Priority | null;
  /** What `isLeftAlone` (domain/why-not.ts) says of it. */
  readonly isLeftAlone: boolean;
}

/** Answers each in its place; null: the issue is no item. */
export async function findItemFacts(db: Db, asked: readonly ItemAsked[]): Promise<(ItemFacts | null)[]> {
  const { rows } = await sql<
    ItemColumns & { place: number; tags: string[] | null; epic_tags: string[] | null; busy: boolean }
  >`
    select a.place::int as place, i.number, i.enrolled, i.admitted, i.admission_at, i.state, i.state_event_at, i.open_since,
      i.integrates, i.hold_at, i.park_by, r.tags,
      (select er.tags from record_link l
         join item e on e.repository_id = l.target_repository_id and e.number = l.target_number and e.enrolled
         join record er on er.repository_id = e.repository_id and er.topic = 'backlog' and er.id = 'issue-' || e.number
         where l.repository_id = i.repository_id and l.number = i.number and l.relation = 'partOf'
           and l.target_repository_id = i.repository_id and l.target_number <> i.number
         order by l.created_at, l.target limit 1) as epic_tags,
      i.review is not distinct from 'in_review' or coalesce(c.live and (c.lease_expires_at > db_now()
        or (i.active_at > c.lease_expires_at and db_now() < least(i.active_at + make_interval(secs => a.quarantine),
          c.lease_expires_at + interval '1 hour'))), false) as busy
    from unnest(${asked.map(({ repositoryId }) => repositoryId)}::bigint[],
      ${asked.map(({ number }) => number)}::int[],
      ${asked.map(({ quarantineSeconds }) => quarantineSeconds)}::float8[])
      with ordinality as a (repository_id, number, quarantine, place)
    join item i on i.repository_id = a.repository_id and i.number = a.number
    left join record r on r.repository_id = i.repository_id and r.topic = 'backlog' and r.id = 'issue-' || i.number
      and (r.expires_at is null or r.expires_at > db_now())
    left join claim c on c.repository_id = i.repository_id and c.topic = 'backlog' and c.id = 'issue-' || i.number`.execute(
    db,
  );
  const facts: (ItemFacts | null)[] = asked.map(() => null);
  for (const row of rows) {
    const priority = tagValue(row.epic_tags ?? [], "priority:");
    facts[row.place - 1] = {
      item: toItemRow(row),
      tags: row.tags ?? [],
      epicPriority: priority !== null && isPriority(priority) ? priority : null,
      isLeftAlone: row.busy,
    };
  }
  return facts;
}
