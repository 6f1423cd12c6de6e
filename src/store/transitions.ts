/** Roles and what an item went through (protocol 9): its own changes, and the claims that were taken on it. */

import { sql } from "kysely";
import type { Role, RoleFacts } from "../domain/item-state.ts";
import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

/** What the item's role hangs on now; null: there is no such item. */
export async function findRoleFacts(db: Db, repositoryId: number, number: number): Promise<RoleFacts | null> {
  const { rows } = await sql<RoleFacts>`
    select i.state, held(i.repository_id, i.number, db_now()) is not null as held, i.hold_at is not null as "onHold",
      i.started_under is not null and exists (select 1 from claim a
        where a.repository_id = i.repository_id and a.topic = 'backlog' and a.scope = 'subtree' and a.live
          and a.lease_expires_at > db_now() and a.fence = i.started_under
          and a.id = any (select 'issue-' || x from unnest(i.ancestors) x)) as "startedAbove",
      i.review is not null as "pullOpen"
    from item i where i.repository_id = ${repositoryId} and i.number = ${number}`.execute(db);
  return rows[0] ?? null;
}

export interface Change {
  readonly trigger: string;
  /** The API token or the login on GitHub that brought it about. */
  readonly actor: string;
  readonly from: Role;
  readonly to: Role;
  readonly summary: string | null;
  readonly fence: number | null;
}

export async function recordTransition(
  trx: Trx,
  repositoryId: number,
  number: number,
  change: Change,
): Promise<void> {
  await trx
    .insertInto("transition")
    .values({
      repository_id: repositoryId,
      number,
      trigger: change.trigger,
      actor: change.actor,
      from_role: change.from,
      to_role: change.to,
      summary: change.summary,
      fence: change.fence,
    })
    .execute();
}

/** Puts the item on hold, or lifts the hold (`null`). */
export async function setHold(
  trx: Trx,
  repositoryId: number,
  number: number,
  hold: { by: string; note: string | null } | null,
): Promise<void> {
  await trx
    .updateTable("item")
    .set({
      hold_at: hold === null ? null : dbNow,
      hold_by: hold?.by ?? null,
      hold_note: hold?.note ?? null,
      started_under: null,
    })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .execute();
}

/** Somebody works on the item under the epic's token. */
export async function setStartedUnder(
  trx: Trx,
  repositoryId: number,
  number: number,
  fence: number,
): Promise<void> {
  await trx
    .updateTable("item")
    .set({ started_under: fence })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .execute();
}

export interface TransitionRow extends Change {
  readonly at: Date;
  /** Names the row's place, for the next page. */
  readonly place: string;
}

/**
 * Newest first, below a place. Taking and ending a claim are transitions too, kept with the grants; how it ended by a
 * completion, a park, a hold or a cancellation is told by those: they led away from `work`, with nothing begun since.
 */
export async function listTransitions(
  db: Db,
  repositoryId: number,
  number: number,
  below: string,
  limit: number,
): Promise<TransitionRow[]> {
  const { rows } = await sql<TransitionRow>`
    with all_of_it as (
      select t.at, '2' || lpad(t.id::text, 19, '0') as tie, t.trigger, t.actor, t.from_role as "from",
        t.to_role as "to", t.summary, t.fence
      from transition t where t.repository_id = ${repositoryId} and t.number = ${number}
      union all
      select g.granted_at, '1' || lpad(g.fence::text, 19, '0'), 'start', g.actor,
        resting_role(g.repository_id, ${number}::int, g.granted_at), 'work', null, g.fence
      from claim_grant g
      where g.repository_id = ${repositoryId} and g.topic = 'backlog' and g.id = ${`issue-${number}`}
      union all
      select coalesce(g.ended_at, c.lease_expires_at), '0' || lpad(g.fence::text, 19, '0'),
        case when g.ended = 'released' then 'release' when g.ended = 'undelivered' then 'undelivered' else 'lapse' end,
        g.actor, 'work',
        resting_role(g.repository_id, ${number}::int, coalesce(g.ended_at, c.lease_expires_at)), null, g.fence
      from claim_grant g
      left join claim c on c.repository_id = g.repository_id and c.topic = g.topic and c.id = g.id
        and c.fence = g.fence and c.live and c.lease_expires_at <= db_now()
      where g.repository_id = ${repositoryId} and g.topic = 'backlog' and g.id = ${`issue-${number}`}
        and (g.ended in ('released', 'undelivered', 'lapsed', 'superseded') or c.fence is not null)
        and not (g.ended = 'released' and exists (select 1 from transition t
          where t.repository_id = g.repository_id and t.number = ${number} and t.from_role = 'work' and t.at >= g.ended_at
            and not exists (select 1 from claim_grant l where l.repository_id = g.repository_id and l.topic = g.topic
              and l.id = g.id and l.granted_at > g.ended_at and l.granted_at <= t.at)
            and not exists (select 1 from transition b where b.repository_id = t.repository_id and b.number = t.number
              and b.to_role = 'work' and b.at > g.ended_at and b.at <= t.at)))),
    placed as (
      select *, to_char(at at time zone 'utc', 'YYYYMMDDHH24MISSUS') || tie as place from all_of_it)
    select at, place, trigger, actor, "from", "to", summary, fence from placed
    where ${below} = '' or place < ${below}
    order by place desc limit ${limit}`.execute(db);
  return rows;
}
