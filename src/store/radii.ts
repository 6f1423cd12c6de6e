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

type Settings = Pick<RepositorySettings, "quarantineSeconds" | "requireAnchors">;

const facts = sql`i.number, i.phase is not distinct from 'research' as "isResearch", i.review is not null as "hasPull",
  array(select substr(l.target, 6) from record_link l
    where l.repository_id = i.repository_id and l.topic = 'backlog' and l.id = 'issue-' || i.number
      and l.relation = 'anchoredTo' and l.target_repository_id = i.repository_id and l.target like 'file/%') as anchors`;

interface Row {
  number: number;
  isResearch: boolean;
  hasPull: boolean;
  anchors: string[];
}

async function radii<T extends Row>(db: Db, query: RawBuilder<T>, { requireAnchors }: Settings) {
  const rows = await preparedRows(db, query.compile(db));
  return rows
    .map((row) => ({ ...row, radius: blastRadius(row.anchors, { ...row, requireAnchors }) }))
    .filter(({ radius }) => radius.length > 0);
}

/** Of these items, those that touch anything. */
export const radiiOf = (
  db: Db,
  repositoryId: number,
  numbers: readonly number[],
  settings: Settings,
): Promise<ItemRadius[]> =>
  radii(
    db,
    sql<Row>`select ${facts} from item i
      where i.repository_id = ${repositoryId} and i.number = any (${[...numbers]}::int[])`,
    settings,
  );

/** Of the items in flight, those that touch anything: worked on, or with their own pull request open. */
export const radiiInFlight = (db: Db, repositoryId: number, settings: Settings): Promise<RadiusInFlight[]> =>
  radii(
    db,
    sql<Row & { atWork: boolean }>`
      select ${facts}, true as "atWork" from claim c
      join item i on i.repository_id = c.repository_id and i.number = item_number(c.topic, c.id)
      where c.repository_id = ${repositoryId} and c.topic = 'backlog' and c.live
        and i.enrolled and i.state is null
        and (c.lease_expires_at > db_now() or (i.active_at > c.lease_expires_at and db_now() <
          least(i.active_at + make_interval(secs => ${settings.quarantineSeconds}),
            c.lease_expires_at + interval '1 hour')))
      union all
      select ${facts}, false from item i
      where i.repository_id = ${repositoryId} and i.review is not null and i.enrolled and i.state is null`,
    settings,
  );
