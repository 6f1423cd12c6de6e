/** Items that look claimable, best first: what `claim-next` tries one after the other. */

import { sql } from "kysely";
import type { View } from "../domain/scope.ts";
import type { Db } from "./database.ts";
import { sees } from "./reach.ts";

export interface Selector {
  /** Only what is part of this epic, at any depth. */
  readonly epic: number | null;
  /** Every one of these. */
  readonly tags: readonly string[];
  readonly priority: number | null;
  readonly phase: string | null;
  readonly orderBy: "priority" | "oldest" | "newest";
  /** Prefer what waited for this item. */
  readonly after: number | null;
}

/**
 * The next candidates among what the caller may see. They are only likely: `take_claim` judges each afresh. Held items are left out, and so is
 * what the caller has tried.
 */
export async function findCandidates(
  db: Db,
  repositoryId: number,
  region: string,
  selector: Selector,
  tried: readonly number[],
  limit: number,
  view: View,
): Promise<number[]> {
  const order = {
    priority: sql`i.priority, i.created_at, i.number`,
    oldest: sql`i.created_at, i.number`,
    newest: sql`i.created_at desc, i.number desc`,
  }[selector.orderBy];
  const successor =
    selector.after === null
      ? sql`(i.number < 0)`
      : sql`exists (select 1 from record_link l where l.repository_id = i.repository_id and l.number = i.number
          and l.relation = 'blockedBy' and l.target_repository_id = i.repository_id
          and l.target_number = ${selector.after})`;
  const wanted = [
    sql`i.repository_id = ${repositoryId} and i.state is null and i.enrolled and i.admitted and i.issue_open`,
    sql`i.open_blockers = 0 and i.hold_at is null and i.park_by is null and not i.flawed and coalesce(i.home_region, ${region}) = ${region}`,
    sql`(i.parts = 0 or not is_grouping(i.repository_id, i.number, i.tags))`,
    sql`i.review is distinct from 'in_review'`,
    sees(view, sql.ref("i.repository_id"), sql.ref("i.number")),
    sql`not i.number = any (${[...tried]}::int[])`,
    sql`not exists (select 1 from claim c where c.repository_id = i.repository_id and c.topic = 'backlog'
        and c.id = 'issue-' || i.number and c.live and c.lease_expires_at > db_now())`,
    sql`(i.resource_keys is null or not exists (select 1 from resource_lease l
        where l.account = account_of(${repositoryId}) and l.key = any (i.resource_keys) and l.ended is null
          and l.expires_at > db_now() and not (l.repository_id = i.repository_id and l.number = i.number)))`,
  ];
  if (selector.epic !== null) wanted.push(sql`i.ancestors @> array[${selector.epic}]::int[]`);
  if (selector.priority !== null) wanted.push(sql`i.priority = ${selector.priority}`);
  if (selector.phase !== null) wanted.push(sql`i.phase = ${selector.phase}`);
  if (selector.tags.length > 0) {
    wanted.push(sql`exists (select 1 from record r where r.repository_id = i.repository_id and r.topic = 'backlog'
        and r.id = 'issue-' || i.number and r.tags @> ${[...selector.tags]}::text[])`);
  }
  const { rows } = await sql<{ number: number }>`
    select i.number from item i where ${sql.join(wanted, sql` and `)}
    order by (${successor}) desc, i.review is not distinct from 'resumable' desc, ${order} limit ${limit}`.execute(
    db,
  );
  return rows.map(({ number }) => number);
}
