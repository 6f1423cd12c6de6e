/**
 * What the ready set is made of, found through indexes (`migrations/0012`): heads of ordered lists, counts up to a
 * limit, and the few items about which others decide. Which of these are ready is decided elsewhere. These are parts of
 * the statements of `ready-reading.ts`.
 */

import { type RawBuilder, sql } from "kysely";
import { limitStep, preparedRows, unseen } from "./call.ts";
import type { Db } from "./database.ts";
import { type RadiusRow, radiusFacts } from "./radii.ts";

/** The lists that an item's own row puts it into. */
export type Standing = "offered" | "foreign" | "waiting" | "unadmitted";

export interface Where {
  readonly repositoryId: number;
  /** Null: any. */
  readonly region: string | null;
}

function standing({ repositoryId, region }: Where, which: Standing): RawBuilder<unknown> {
  const here = sql`i.repository_id = ${repositoryId}`;
  switch (which) {
    case "offered":
      return region === null
        ? sql`${here} and i.offered`
        : sql`${here} and i.offered and i.home_region = ${region}`;
    case "foreign":
      return region === null ? sql`false` : sql`${here} and i.offered and i.home_region <> ${region}`;
    case "waiting":
      return sql`${here} and i.enrolled and i.state is null and (i.admitted or not i.issue_open) and not i.offered`;
    case "unadmitted":
      return sql`${here} and i.enrolled and i.state is null and not i.admitted and i.issue_open`;
  }
}

/** The most urgent of a list, without some (an array): `limit` of them, or more. */
export const headQuery = (
  where: Where,
  which: Standing,
  without: RawBuilder<unknown>,
  limit: number,
): RawBuilder<{ number: number }> => sql`
  select i.number from item i where ${standing(where, which)} and not i.number = any (${without})
  order by i.urgency, i.created_at, i.number limit ${limitStep(limit)}`;

/** So many more than asked for are read of what is offered, of which some may overlap. */
export const SPARE = 20;

/**
 * As the head of what is offered, with what tells the radii, and some to spare. The head is of the index alone: of a region
 * that offers nothing all of it is read.
 */
export const offeredQuery = (
  where: Where,
  without: RawBuilder<unknown>,
  limit: number,
): RawBuilder<RadiusRow> => sql`
  select i.number, i."isResearch", i."hasPull", i.anchors from (
    select i.number, i.urgency, i.created_at from item i
    where ${standing(where, "offered")} and not i.number = any (${without})
    order by i.urgency, i.created_at, i.number limit ${limitStep(limit)} + ${sql.lit(SPARE)}) h
  cross join lateral (
    select ${radiusFacts} from item i where i.repository_id = ${where.repositoryId} and i.number = h.number offset 0) i
  order by h.urgency, h.created_at, h.number`;

const NOBODY = sql`'{}'::int[]`;

/** What is offered, the most urgent first: the ready query by itself. */
export async function offeredHead(db: Db, where: Where, limit: number): Promise<number[]> {
  const rows = await preparedRows(db, headQuery(where, "offered", NOBODY, limit).compile(db));
  return rows.slice(0, limit).map(({ number }) => number);
}

/**
 * The most urgent that wait, `limit` of them or more: of those that wait by their own row, those of other regions, and what
 * is `held` back. `without`: those in flight and held back, as an array.
 */
export function waitingQuery(
  where: Where,
  without: RawBuilder<unknown>,
  limit: number,
): RawBuilder<{ number: number }> {
  const head = (which: Standing): RawBuilder<unknown> => sql`
    (select i.number, i.urgency, i.created_at from item i
      where ${standing(where, which)} and not i.number = any (${without})
      order by i.urgency, i.created_at, i.number limit ${limitStep(limit)})`;
  return sql`
    select w.number from (
      ${head("waiting")}
      union all ${head("foreign")}
      union all
      (select h.number, h.urgency, h.created_at from held h where h.number <> all (array(select number from flights)))) w
    order by w.urgency, w.created_at, w.number limit ${limitStep(limit)}`;
}

/** How many stand in a list, up to `most`. */
export const countQuery = (where: Where, which: Standing, most: number): RawBuilder<number> =>
  sql`(select count(*) from (select 1 from item i where ${standing(where, which)} limit ${most}) c)`;

/** How many are parked, up to `most`. */
export const parkedCount = ({ repositoryId }: Where, most: number): RawBuilder<number> =>
  sql`(select count(*) from (select 1 from item i where i.repository_id = ${repositoryId}
    and i.enrolled and i.state = 'parked' limit ${most}) c)`;

/** The first of the parked items, by number: `limit` of them, or more. */
export const parkedQuery = ({ repositoryId }: Where, limit: number): RawBuilder<{ number: number }> => sql`
  select i.number from item i where i.repository_id = ${repositoryId} and i.enrolled and i.state = 'parked'
  order by i.number limit ${limitStep(limit)}`;

const standingOf = ({ region }: Where) => sql`case when not i.admitted and i.issue_open then 'unadmitted'
  when not i.offered then 'waiting' when i.home_region = coalesce(${region}::text, i.home_region) then 'offered'
  else 'foreign' end`;

export interface Placed {
  readonly number: number;
  readonly standing: Standing;
}

/** Why, by the reason that a refusal would name: `resource_unavailable` only if no other stands against it. */
export interface HeldBack extends Placed {
  readonly reason: string;
}

export interface Flight extends Placed, Omit<RadiusRow, "number"> {
  /** ISO 8601. */
  readonly leaseExpiresAt: string;
  readonly isHeld: boolean;
}

/** Everything in flight, the most urgent first: under an unexpired lease, or lapsed but active (domain/ready-set.ts). */
export const flightsQuery = (where: Where, quarantineSeconds: number): RawBuilder<Flight> => sql`
  select i.number, c.lease_expires_at as "leaseExpiresAt", c.lease_expires_at > db_now() as "isHeld", i.standing,
    i."isResearch", i."hasPull", i.anchors
  from claim c
  cross join lateral (select ${radiusFacts}, i.active_at, i.urgency, i.created_at, ${standingOf(where)} as standing from item i
    where i.repository_id = c.repository_id and i.number = item_number(c.topic, c.id)
      and i.enrolled and i.state is null offset 0) i
  where c.repository_id = ${where.repositoryId} and c.topic = 'backlog' and c.live
    and (c.lease_expires_at > db_now() or (i.active_at > c.lease_expires_at and db_now() <
      least(i.active_at + make_interval(secs => ${quarantineSeconds}), c.lease_expires_at + interval '1 hour')))
  order by i.urgency, i.created_at, i.number`;

/**
 * Offered items against which others speak, that are not in flight themselves: below a claimed or a queued epic, beside
 * an integration that is worked on, an integration that is not due, claimed so often that it may be poisoned, to be
 * parked for a human's label, or in need of a resource that another item holds. `standard`: the repository's threshold.
 */
export function heldBackQuery(where: Where, standard: number): RawBuilder<HeldBack> {
  const { repositoryId } = where;
  return sql`
    with epics as (
      select item_number(c.topic, c.id) as number from claim c
      where c.repository_id = ${repositoryId} and c.topic = 'backlog' and c.live and c.scope = 'subtree'
        and c.lease_expires_at > db_now()
      union
      select item_number(w.topic, w.id) from claim_waiter w join replica p on p.id = w.replica and p.alive_until > db_now()
      where w.repository_id = ${repositoryId} and w.topic = 'backlog' and w.scope = 'subtree'
      union
      select n.integrates from claim c
      cross join lateral (select n.integrates from item n where n.repository_id = c.repository_id
        and n.number = item_number(c.topic, c.id) and n.integrates is not null offset 0) n
      where c.repository_id = ${repositoryId} and c.topic = 'backlog' and c.live and c.lease_expires_at > db_now()),
    suspects as (
      select d as number from epics e, descendants_of(${repositoryId}, e.number) d where e.number is not null
      union
      select i.number from item i where i.repository_id = ${repositoryId} and i.offered and i.integrates is not null
      union
      select item_number(c.topic, c.id) from claim c
      where c.repository_id = ${repositoryId} and c.topic = 'backlog' and c.grants > 1
      union
      -- One attempt is enough only where somebody says so: else nothing is read for it.
      select item_number(c.topic, c.id) from claim c
      where c.repository_id = ${repositoryId} and c.topic = 'backlog' and (select least(${standard}::int, min(t.threshold))
        from item t where t.repository_id = ${repositoryId} and t.threshold is not null) <= 1
      union
      select d.number from defect d where d.repository_id = ${repositoryId} and d.code = 'marker_without_grant'
      union
      select i.number from item i where i.repository_id = ${repositoryId} and i.park_by is not null
      union
      select i.number from item i
      where i.repository_id = ${repositoryId} and i.resource_keys && array(select l.key from resource_lease l
        where l.account = account_of(${repositoryId}) and l.ended is null and l.expires_at > db_now())),
    -- Found before any is judged: judged in the scan, it would be every offered item.
    suspected as materialized (
      select i.number, i.home_region, i.urgency, i.created_at, i.standing from suspects s
      cross join lateral (select i.number, i.home_region, i.urgency, i.created_at, ${standingOf(where)} as standing
        from item i where i.repository_id = ${repositoryId} and i.number = s.number and i.offered offset 0) i)
    select i.number, i.standing, i.urgency, i.created_at, v.reason from suspected i
    cross join lateral judge_item(${repositoryId}, i.number, '', '', i.home_region, i.home_region, 'item', false, false,
      db_now()) v
    where v.reason is not null
    order by i.urgency, i.created_at, i.number`;
}

/**
 * Offered items whose anchors may meet some paths: at one of the places, below one of the directories, or by a glob or an
 * odd spelling of their own; with `orUnanchored` those without anchors, too. The most urgent first, with those of their
 * anchors that may meet: the others are not read.
 */
export function nearQuery(
  where: Where,
  reach: { readonly at: readonly string[]; readonly below: readonly string[] },
  orUnanchored: boolean,
): RawBuilder<Omit<RadiusRow, "isResearch">> {
  const { repositoryId } = where;
  const at = reach.at
    .map((path) => (path === "" ? "." : path))
    .flatMap((path) => [`file/${path}`, `file/${path}/`]);
  const below = reach.below.map((path) => (path === "" ? "file/" : `file/${path}/`));
  const unanchored = sql`
      union
      select i.number, null from item i
      where ${standing(where, "offered")} and not exists (
        select 1 from record_link l where l.repository_id = i.repository_id and l.number = i.number
          and l.relation = 'anchoredTo' and l.target_repository_id = i.repository_id and l.target like 'file/%')`;
  const anchored = sql`select l.number, substr(l.target, 6) as anchor from record_link l
      where l.repository_id = ${repositoryId} and l.relation = 'anchoredTo' and l.target_repository_id = l.repository_id`;
  // A union, for PostgreSQL takes what is left of one for few, and what is added up for many, and would read all items.
  return sql`
    with near as (
      ${anchored} and l.target = any (${unseen(at, "text")})
      union
      -- Everything that begins with the directory: the character after a slash is a zero.
      select l.number, l.anchor from unnest(${unseen(below, "text")}) d
      cross join lateral (${anchored} and l.target ~>=~ d and l.target ~<~ (rtrim(d, '/') || '0')) l
      union
      ${anchored} and l.target ~ '[*?[{]'
      union
      ${anchored} and l.target ~ '//|/[.](/|$)'
      ${orUnanchored ? unanchored : sql``})
    -- One by one: the few that are near are not looked for among all that are offered.
    select i.number, i."hasPull", n.anchors
    from (select number, array_remove(array_agg(anchor), null) as anchors from near group by number) n
    cross join lateral (
      select i.number, i.review is not null as "hasPull", i.urgency, i.created_at from item i
      where i.number = n.number and ${standing(where, "offered")} and i.phase is distinct from 'research' offset 0) i
    order by i.urgency, i.created_at, i.number`;
}
