/** The blast radii of items (protocol 6, step 11), as the store can tell them quickly. */

import { type RawBuilder, sql } from "kysely";
import { blastRadius } from "../domain/blast-radius.ts";
import type { RepositorySettings } from "../domain/settings.ts";
import { preparedRows } from "./call.ts";
import type { Db } from "./database.ts";

export interface ItemRadius {
  readonly number: number;
  readonly radius: readonly string[];
  /** Work on it lies in a pull request that is open. */
  readonly hasPull: boolean;
}

export interface RadiusInFlight extends ItemRadius {
  /** Under an unexpired lease, or lapsed but active; else only its pull request is open. */
  readonly atWork: boolean;
}

export type RadiusSettings = Pick<RepositorySettings, "quarantineSeconds" | "requireAnchors">;

/** What a radius is made of. */
export interface RadiusRow {
  number: number;
  isResearch: boolean;
  hasPull: boolean;
  anchors: string[];
}

/** Of the item `i` of a query. */
export const radiusFacts = sql`i.number, i.phase is not distinct from 'research' as "isResearch",
  i.review is not null as "hasPull",
  array(select substr(l.target, 6) from record_link l
    where l.repository_id = i.repository_id and l.topic = 'backlog' and l.id = 'issue-' || i.number
      and l.relation = 'anchoredTo' and l.target_repository_id = i.repository_id and l.target like 'file/%') as anchors`;

/** The radii of those that touch anything. */
export const radiiOfRows = <T extends RadiusRow>(rows: readonly T[], { requireAnchors }: RadiusSettings) =>
  rows
    .map((row) => ({ ...row, radius: blastRadius(row.anchors, { ...row, requireAnchors }) }))
    .filter(({ radius }) => radius.length > 0);

/**
 * The items in flight: worked on, or with their own pull request open. Each is looked up by itself: joined, they would be
 * looked for among all items.
 */
export const inFlightRadii = (
  repositoryId: number,
  { quarantineSeconds }: RadiusSettings,
): RawBuilder<RadiusRow & { atWork: boolean }> => sql`
  select i.number, i."isResearch", i."hasPull", i.anchors, true as "atWork" from claim c
  cross join lateral (select ${radiusFacts}, i.active_at from item i
    where i.repository_id = c.repository_id and i.number = item_number(c.topic, c.id)
      and i.enrolled and i.state is null offset 0) i
  where c.repository_id = ${repositoryId} and c.topic = 'backlog' and c.live
    and (c.lease_expires_at > db_now() or (i.active_at > c.lease_expires_at and db_now() <
      least(i.active_at + make_interval(secs => ${quarantineSeconds}), c.lease_expires_at + interval '1 hour')))
  union all
  select r.number, r."isResearch", r."hasPull", r.anchors, false from (${reviewedRadii(repositoryId)}) r`;

/** The items whose own pull request is open. */
export const reviewedRadii = (repositoryId: number): RawBuilder<RadiusRow> => sql`
  select ${radiusFacts} from item i
  where i.repository_id = ${repositoryId} and i.review is not null and i.enrolled and i.state is null`;

/** Of the items in flight, those that touch anything. */
export async function radiiInFlight(
  db: Db,
  repositoryId: number,
  settings: RadiusSettings,
): Promise<RadiusInFlight[]> {
  return radiiOfRows(await preparedRows(db, inFlightRadii(repositoryId, settings).compile(db)), settings);
}
