/** Items that look claimable, best first: what `claim-next` tries one after the other. */

import { type RawBuilder, sql } from "kysely";
import type { View } from "../domain/scope.ts";
import { limitStep, preparedRows, unseen } from "./call.ts";
import type { Db } from "./database.ts";
import {
  type ItemRadius,
  inFlightRadii,
  type RadiusInFlight,
  type RadiusRow,
  type RadiusSettings,
  radiiOfRows,
  radiusFacts,
} from "./radii.ts";
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

export interface Candidates {
  /** The best first, whether or not they touch anything. */
  readonly numbers: readonly number[];
  /** Of those that touch something. */
  readonly radii: readonly ItemRadius[];
  readonly inFlight: readonly RadiusInFlight[];
}

export interface CandidatesAsked {
  readonly repositoryId: number;
  readonly region: string;
  readonly selector: Selector;
  readonly tried: readonly number[];
  readonly limit: number;
  readonly view: View;
}

/**
 * The next candidates among what the caller may see, and what is in flight, in one statement. They are only likely:
 * `take_claim` judges each afresh. Held items are left out, and so is what the caller has tried.
 *
 * What is preferred (what waited for `after`, what can be merged now) is few and stands first; what follows is the head of
 * an index (migrations/0012 and 0019), so that a large backlog is not sorted.
 */
export async function findCandidates(
  db: Db,
  asked: CandidatesAsked,
  settings: RadiusSettings,
): Promise<Candidates> {
  const heads = preferences(asked.selector).map((preferred) => headOf({ ...asked, preferred }));
  const all = sql.join(
    heads.map((head) => sql`(select coalesce(json_agg(q), '[]') from (${head}) q)`),
    sql`, `,
  );
  const [row] = await preparedRows(
    db,
    sql<{ heads: RadiusRow[][]; inFlight: (RadiusRow & { atWork: boolean })[] }>`
      select json_build_array(${all}) as heads,
        (select coalesce(json_agg(f), '[]') from (${inFlightRadii(asked.repositoryId, settings)}) f) as "inFlight"`.compile(
      db,
    ),
  );
  if (!row) throw new Error("a query of one row answered none");
  const found = new Map(row.heads.flat().map((item) => [item.number, item]));
  const first = [...found.values()].slice(0, asked.limit);
  return {
    numbers: first.map(({ number }) => number),
    radii: radiiOfRows(first, settings),
    inFlight: radiiOfRows(row.inFlight, settings),
  };
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

function headOf({
  repositoryId,
  region,
  selector,
  tried,
  limit,
  preferred,
  view,
}: CandidatesAsked & { readonly preferred: Preferred }): RawBuilder<unknown> {
  const order = {
    priority: sql`i.urgency, i.created_at, i.number`,
    oldest: sql`i.created_at, i.number`,
    newest: sql`i.created_at desc, i.number desc`,
  }[selector.orderBy];
  const wanted: RawBuilder<unknown>[] = [
    sql`i.repository_id = ${repositoryId} and i.offered and i.park_by is null and i.home_region = ${region}`,
    sees(view, sql.ref("i.repository_id"), sql.ref("i.number")),
    sql`not i.number = any (${unseen(tried, "int")})`,
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
  return sql`select ${radiusFacts} from item i where ${sql.join(wanted, sql` and `)} order by ${order} limit ${limitStep(limit)}`;
}
