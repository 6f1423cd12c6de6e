/** Items that look claimable, best first: what `claim-next` tries one after the other. */

import { type RawBuilder, sql } from "kysely";
import type { View } from "../domain/scope.ts";
import { preparedRows } from "./call.ts";
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
 *
 * What is preferred (what waited for `after`, what can be merged now) is few and asked for first; what follows is the
 * head of an index (migrations/0012 and 0019), so that a large backlog is not sorted.
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
  const found: number[] = [];
  for (const preferred of preferences(selector)) {
    const without = [...tried, ...found];
    found.push(
      ...(await headOf(
        db,
        { repositoryId, region, selector, without, preferred, view },
        limit - found.length,
      )),
    );
    if (found.length >= limit) break;
  }
  return found;
}

interface Preferred {
  readonly successors: boolean;
  /** Null: whether or not it can be merged now; the order says what comes first. */
  readonly resumable: true | null;
}

function preferences({ after, orderBy }: Selector): Preferred[] {
  const successors = after === null ? [false] : [true, false];
  // The urgency holds already that what can be merged comes first.
  const resumable = orderBy === "priority" ? [null] : [true as const, null];
  return successors.flatMap((isSuccessor) =>
    resumable.map((isResumable) => ({ successors: isSuccessor, resumable: isResumable })),
  );
}

async function headOf(
  db: Db,
  asked: {
    readonly repositoryId: number;
    readonly region: string;
    readonly selector: Selector;
    readonly without: readonly number[];
    readonly preferred: Preferred;
    readonly view: View;
  },
  limit: number,
): Promise<number[]> {
  const { repositoryId, region, selector, without, preferred, view } = asked;
  const order = {
    priority: sql`i.urgency, i.created_at, i.number`,
    oldest: sql`i.created_at, i.number`,
    newest: sql`i.created_at desc, i.number desc`,
  }[selector.orderBy];
  const wanted: RawBuilder<unknown>[] = [
    sql`i.repository_id = ${repositoryId} and i.offered and i.park_by is null and i.home_region = ${region}`,
    sees(view, sql.ref("i.repository_id"), sql.ref("i.number")),
    sql`not i.number = any (${[...without]}::int[])`,
    sql`not exists (select 1 from claim c where c.repository_id = i.repository_id and c.topic = 'backlog'
        and c.id = 'issue-' || i.number and c.live and c.lease_expires_at > db_now())`,
    sql`(i.resource_keys is null or not exists (select 1 from resource_lease l
        where l.account = account_of(${repositoryId}) and l.key = any (i.resource_keys) and l.ended is null
          and l.expires_at > db_now() and not (l.repository_id = i.repository_id and l.number = i.number)))`,
  ];
  if (preferred.successors) {
    wanted.push(sql`i.number = any (array(select l.number from record_link l where l.repository_id = ${repositoryId}
        and l.relation = 'blockedBy' and l.target_repository_id = ${repositoryId}
        and l.target_number = ${selector.after}))`);
  }
  if (preferred.resumable) wanted.push(sql`i.review = 'resumable'`);
  if (selector.epic !== null) wanted.push(sql`i.ancestors @> array[${selector.epic}]::int[]`);
  if (selector.priority !== null) wanted.push(sql`i.priority = ${selector.priority}`);
  if (selector.phase !== null) wanted.push(sql`i.phase = ${selector.phase}`);
  // Its record's tags, which are kept on its row.
  if (selector.tags.length > 0) wanted.push(sql`i.tags @> ${[...selector.tags]}::text[]`);
  const rows = await preparedRows(
    db,
    sql<{ number: number }>`
      select i.number from item i where ${sql.join(wanted, sql` and `)}
      order by ${order} limit ${limit}`.compile(db),
  );
  return rows.map(({ number }) => number);
}
