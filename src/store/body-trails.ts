/** What edits have told of an issue's text (`domain/body-trail.ts`), kept beside the mirror's row. */

import { type Selectable, sql } from "kysely";
import { type BodyTrail, UNOPENED } from "../domain/body-trail.ts";
import type { Db, Trx } from "./database.ts";
import type { IssueTable } from "./mirror-schema.ts";

export const toTrail = ({ body_trail: kept }: Pick<Selectable<IssueTable>, "body_trail">): BodyTrail | null =>
  kept && { ...kept, untoldAsOf: kept.untoldAsOf === null ? null : new Date(kept.untoldAsOf) };

/** The caller has the issue's row locked. */
export async function saveBodyTrail(
  trx: Trx,
  repositoryId: number,
  number: number,
  trail: BodyTrail | null,
): Promise<void> {
  const kept = trail === null ? null : JSON.stringify(trail);
  const isUntold = trail !== null && trail.untoldAsOf !== null;
  await sql`
    update issue set body_trail = ${kept}::jsonb,
      body_untold_since = case when ${isUntold}::boolean then coalesce(body_untold_since, db_now()) end
    where repository_id = ${repositoryId} and number = ${number}
      and body_trail is distinct from ${kept}::jsonb`.execute(trx);
}

/**
 * A reading is done: of issues older than this whose opening was not heard of, what was heard of first is taken for their
 * own text. Most of them were there before the App.
 */
export async function forgetUnopened(trx: Trx, repositoryId: number, before: Date): Promise<void> {
  await sql`
    update issue set body_trail = null
    where repository_id = ${repositoryId} and body_trail is not null and body_untold_since is null
      and body_trail ->> 'told' = ${UNOPENED} and created_at < ${before}`.execute(trx);
}

/** After so long nobody waits for an audit of the deliveries any more. */
const UNAUDITED_SECONDS = 900;

/**
 * Admitted items whose text no edit has told of for so long, by number, with no delivery of the issue left to apply: an audit
 * of the deliveries has found since that nothing else is under way, or there was none for long. Not while a repository is
 * taken up: until it is read, what is heard of its issues is no news.
 */
export async function untoldBodies(
  db: Db,
  afterSeconds: number,
  limit: number,
  after: { readonly repositoryId: number; readonly number: number },
): Promise<{ repositoryId: number; number: number }[]> {
  const { rows } = await sql<{ repositoryId: number; number: number }>`
    select s.repository_id as "repositoryId", s.number from issue s
    join item i on i.repository_id = s.repository_id and i.number = s.number
    join repository r on r.id = s.repository_id
    where s.body_trail is not null and s.body_untold_since <= db_now() - make_interval(secs => ${afterSeconds})
      and (s.repository_id, s.number) > (${after.repositoryId}, ${after.number})
      and s.gone is null and i.admitted and not (r.backfill_state = 'pending' and r.backfill_mode = 'take_up')
      and (s.body_untold_since <= db_now() - make_interval(secs => ${UNAUDITED_SECONDS})
        or mirror_fresh_at(r) > s.body_untold_since)
      and not exists (select 1 from inbox d where d.repository_id = s.repository_id
        and d.lane = 'issue:' || s.number and d.state = 'pending')
    order by s.repository_id, s.number limit ${limit}`.execute(db);
  return rows;
}
