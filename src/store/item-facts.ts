/** Reads everything the rules ask about items, in one statement, so that the facts are of one moment. */

import { type RawBuilder, sql } from "kysely";
import type { Blocker } from "../domain/blockers.ts";
import { itemOfTarget } from "../domain/record-key.ts";
import type { Scope, View } from "../domain/scope.ts";
import { preparedRows, unseen } from "./call.ts";
import type { Db } from "./database.ts";
import {
  type BlockerRow,
  type ItemView,
  type ItemViewRow,
  type Limits,
  toBlocker,
  toView,
} from "./item-view.ts";
import { reaches, sees } from "./reach.ts";

/** What a `blockedBy` edge to this target hangs on, or would. `of`: the item that has the edge; null: none yet. */
export async function findBlocker(
  db: Db,
  home: number,
  edge: { repositoryId: number; target: string },
  of: number | null = null,
): Promise<Blocker> {
  const rows = await preparedRows(
    db,
    sql<Omit<BlockerRow, "repositoryId" | "target">>`
    select b.number is not null as "isItem", b.state, br.tags, bs.state = 'open' and bs.gone is null as "issueOpen",
      coalesce(bs.gone, bs.state_reason) as "issueReason", b.ruling_owner as "rulingOwner", b.question,
      f.owner || '/' || f.name as repository, f.installed, case when w.number is not null
        then json_build_object('open', w.open, 'stateReason', w.state_reason) end as told
    from (select ${edge.repositoryId}::bigint as repository_id, ${itemOfTarget(edge.target) ?? 0}::int as number) l
    left join repository f on f.id = l.repository_id
    left join issue bs on bs.repository_id = l.repository_id and bs.number = l.number
    left join item b on b.repository_id = bs.repository_id and b.number = bs.number
    left join record br on br.repository_id = bs.repository_id and br.topic = 'backlog' and br.id = 'issue-' || bs.number
    left join foreign_blocker w on w.repository_id = ${home} and w.number = ${of}::int
      and w.target_repository_id = ${edge.repositoryId} and w.target = ${edge.target}
    limit 1`.compile(db),
  );
  const [row] = rows;
  if (row === undefined) throw new Error("a query of one row answered none");
  return toBlocker({ ...row, ...edge }, home);
}

export interface ItemPage {
  readonly items: readonly ItemView[];
  /** The database's time at which the facts were true. */
  readonly now: Date;
}

/** One item, or null. */
export async function findItemView(
  db: Db,
  repositoryId: number,
  number: number,
  settings: Limits,
): Promise<{ item: ItemView; now: Date } | null> {
  const page = await read(db, repositoryId, settings, sql`i.number = ${number}`, sql``);
  const item = page.items[0];
  return item ? { item, now: page.now } : null;
}

/** Every live and every parked item: what the ready set is made of. */
export function openItems(db: Db, repositoryId: number, settings: Limits, view: View): Promise<ItemPage> {
  const open = sql`(i.state is null or i.state = 'parked') and i.enrolled and ${isSeen(view)}`;
  return read(db, repositoryId, settings, open, sql``);
}

const isSeen = (view: View) => sees(view, sql.ref("i.repository_id"), sql.ref("i.number"));

/** The items of these numbers. */
export function itemViews(
  db: Db,
  repositoryId: number,
  numbers: readonly number[],
  settings: Limits,
): Promise<ItemPage> {
  return read(db, repositoryId, settings, sql`i.number = any (${unseen(numbers, "int")})`, sql``);
}

/** What is directly `partOf` an epic, live or parked. */
export function partsOf(
  db: Db,
  repositoryId: number,
  epic: number,
  settings: Limits,
  view: View,
): Promise<ItemPage> {
  const parts = sql`${isSeen(view)} and (i.state is null or i.state = 'parked') and i.enrolled and exists (
    select 1 from record_link l where l.target_repository_id = ${repositoryId} and l.target_number = ${epic}
      and l.relation = 'partOf' and l.repository_id = i.repository_id and l.number = i.number)`;
  return read(db, repositoryId, settings, parts, sql``);
}

export interface ItemFilter {
  readonly after: number;
  readonly limit: number;
  readonly state?: "live" | "complete" | "parked" | "cancelled" | undefined;
  readonly tag?: string | undefined;
  readonly text?: string | undefined;
  readonly view: View;
  /** Only what is part of no item that the caller may see; null: of any repository. */
  readonly rootsAmong?: { readonly repositories: ReadonlySet<number> | null } | undefined;
}

/** Enrolled items by number. */
export function listItemViews(
  db: Db,
  repositoryId: number,
  settings: Limits,
  filter: ItemFilter,
): Promise<ItemPage> {
  const wanted: RawBuilder<unknown>[] = [
    sql`i.enrolled`,
    sql`i.number > ${filter.after}`,
    isSeen(filter.view),
  ];
  if (filter.rootsAmong) wanted.push(isRoot(filter.view.scope, filter.rootsAmong.repositories));
  if (filter.state === "live") wanted.push(sql`i.state is null`);
  else if (filter.state) wanted.push(sql`i.state = ${filter.state}`);
  if (filter.tag) wanted.push(sql`r.tags @> array[${filter.tag}]::text[]`);
  if (filter.text) wanted.push(sql`position(lower(${filter.text}) in lower(s.title)) > 0`);
  return read(db, repositoryId, settings, sql.join(wanted, sql` and `), sql`limit ${filter.limit}`);
}

/** That no item which the caller may see is above it. */
function isRoot(scope: Scope | null, repositories: ReadonlySet<number> | null): RawBuilder<unknown> {
  const visible =
    repositories === null ? sql`true` : sql`p.repository_id = any (${[...repositories]}::bigint[])`;
  return sql`not exists (select 1 from record_link l
    join item p on p.repository_id = l.target_repository_id and p.number = l.target_number and p.enrolled
    where l.repository_id = i.repository_id and l.number = i.number and l.relation = 'partOf' and ${visible}
      and ${reaches(scope, sql.ref("p.repository_id"), sql.ref("p.number"))})`;
}

async function read(
  db: Db,
  repositoryId: number,
  settings: Limits,
  where: RawBuilder<unknown>,
  limit: RawBuilder<unknown>,
): Promise<ItemPage> {
  const rows = await preparedRows(
    db,
    sql<ItemViewRow>`
    select i.number, i.enrolled, i.admitted, i.admitted_by, i.state, i.state_at, i.park_reason, i.ruling_owner,
      i.question, i.park_by, i.park_at, i.created_at, r.tags, r.expires_at, s.title, s.html_url, s.labels, s.state = 'open' and s.gone is null as issue_open,
      s.state_reason, s.author_login, greatest(s.updated_at, r.updated_at) as updated_at,
      shape.parts, shape.open_parts, i.parts > 0 and exists (select 1 from record_link n
        where n.target_repository_id = i.repository_id and n.target_number = i.number and n.relation = 'integrates') as integrated,
      -- Without a claim there was no grant, and what never had a marker says so, as judge_item has it.
      case when c.fence is not null then array(select g.fence from claim_grant g
         where g.repository_id = i.repository_id and g.topic = 'backlog'
         and g.id = r.id and g.new_attempt and g.fence > i.attempts_after) else '{}' end as grants,
      case when i.marked then array(select m.fence from claim_marker m where m.repository_id = i.repository_id
         and m.issue_number = i.number and m.fence > i.attempts_after) else '{}' end as markers,
      case when c.fence is not null then array(select split_part(o.promise, ':', 2)::bigint from outbox o
         where o.repository_id = i.repository_id and o.issue_number = i.number and o.state = 'pending'
         and o.promise like 'claim:%') else '{}' end as unposted,
      (select coalesce(json_agg(json_build_object('relation', l.relation,
           'repositoryId', l.target_repository_id, 'target', l.target) order by l.relation, l.created_at, l.target), '[]')
         from record_link l where l.repository_id = i.repository_id and l.topic = 'backlog' and l.id = r.id) as links,
      (select coalesce(json_agg(json_build_object('repositoryId', l.target_repository_id, 'target', l.target,
           'isItem', b.number is not null, 'state', b.state, 'tags', b.tags,
           'issueOpen', bs.state = 'open' and bs.gone is null, 'issueReason', coalesce(bs.gone, bs.state_reason),
           'rulingOwner', b.ruling_owner, 'question', b.question, 'repository', f.owner || '/' || f.name,
           'installed', f.installed, 'told', case when w.number is not null
             then json_build_object('open', w.open, 'stateReason', w.state_reason) end) order by l.created_at, l.target), '[]')
         from record_link l
         left join repository f on f.id = l.target_repository_id
         left join issue bs on bs.repository_id = l.target_repository_id and bs.number = l.target_number
         left join item b on b.repository_id = bs.repository_id and b.number = bs.number
         left join foreign_blocker w on w.repository_id = i.repository_id and w.number = i.number
           and w.target_repository_id = l.target_repository_id and w.target = l.target
         where l.repository_id = i.repository_id and l.topic = 'backlog' and l.id = r.id
           and l.relation = 'blockedBy') as blockers,
      -- Where a member is complete, the circle is open at that place.
      case when not exists (select 1 from cycle_member y where y.repository_id = i.repository_id and y.number = i.number)
        then '[]' else (select coalesce(json_agg(json_build_object('relation', y.relation, 'since', y.since, 'members', (
           select json_agg(json_build_object('repositoryId', m.repository_id, 'number', m.number,
               'repository', f.owner || '/' || f.name) order by m.place)
             from cycle_member m left join repository f on f.id = m.repository_id
             where m.cycle = y.cycle)) order by y.since, y.cycle), '[]')
         from cycle_member y where y.repository_id = i.repository_id and y.number = i.number
           and (y.relation <> 'blockedBy' or not exists (select 1 from cycle_member d where d.cycle = y.cycle
             and blocker_satisfied(d.repository_id, 'mem/backlog/issue-' || d.number)))) end as cycles,
      (select coalesce(json_agg(json_build_object('repositoryId', a.target_repository_id, 'target', a.target,
           'branch', a.branch, 'captured', a.captured, 'current', a.current, 'driftedAt', a.drifted_at)
           order by a.target_repository_id, a.target), '[]')
         from anchor a where a.repository_id = i.repository_id and a.topic = 'backlog' and a.id = r.id) as anchors,
      (select coalesce(json_agg(json_build_object('code', n.code, 'value', n.value, 'detail', n.detail,
           'since', n.since) order by n.since), '[]')
         from incident n where n.repository_id = i.repository_id and n.number = i.number) as incidents,
      i.active_at, i.threshold as own_threshold,
      json_build_object(
        'claimedAbove', cardinality(i.ancestors) > 0 and exists (select 1 from claim a
          where a.repository_id = i.repository_id and a.topic = 'backlog' and a.scope = 'subtree' and a.live
            and a.lease_expires_at > db_now() and a.id = any (array(select 'issue-' || x from unnest(i.ancestors) x))),
        'queuedAbove', cardinality(i.ancestors) > 0 and exists (select 1 from claim_waiter w
          join replica p on p.id = w.replica and p.alive_until > db_now()
          where w.repository_id = i.repository_id and w.topic = 'backlog' and w.scope = 'subtree'
            and w.id = any (array(select 'issue-' || x from unnest(i.ancestors) x))),
        'integrating', cardinality(i.ancestors) > 0 and exists (select 1 from item n
          where n.repository_id = i.repository_id and n.integrates = any (i.ancestors) and n.number <> i.number
            -- Looked up one by one: joined, it would be all claims for each item.
            and (select k.live and k.lease_expires_at > db_now() from claim k where k.repository_id = n.repository_id
              and k.topic = 'backlog' and k.id = 'issue-' || n.number)),
        'fanOutOpen', i.integrates is not null and (
          -- Mostly a part right below says so already, and nothing need be walked.
          exists (select 1 from record_link l join item p on p.repository_id = l.repository_id and p.number = l.number
            where l.target_repository_id = i.repository_id and l.target_number = i.integrates and l.relation = 'partOf'
              and l.repository_id = i.repository_id and p.number <> i.number and p.parts = 0
              and (p.state is null or p.state = 'parked'))
          or fan_out_open(i.repository_id, i.integrates, i.number, db_now())),
        -- Also what was taken off the backlog, which the count of parts leaves out, may still be held.
        'heldBelow', exists (select 1 from record_link l where l.target_repository_id = i.repository_id
            and l.target_number = i.number and l.relation = 'partOf')
          and exists (select 1 from descendants_of(i.repository_id, i.number) d
          where held(i.repository_id, d, db_now()) is not null)) as grouping,
      json_build_object(
        'defaultBranch', (select f.default_branch from repository f where f.id = i.repository_id),
        'isPart', cardinality(i.ancestors) > 0,
        'integrates', i.integrates is not null,
        'integratedBy', case when i.parts > 0 then (select coalesce(json_agg(n.number order by n.number), '[]')
          from item n where n.repository_id = i.repository_id and n.integrates = i.number and n.enrolled
            and n.state is distinct from 'cancelled') else '[]' end,
        'hasDiagram', i.parts > 0 and (has_diagram(i.repository_id, i.number) or exists (select 1 from outbox o
          where o.repository_id = i.repository_id and o.issue_number = i.number and o.state = 'pending'
            and o.promise = 'diagram:' || i.number)),
        'parentBranches', case when cardinality(i.ancestors) > 0 then (select coalesce(json_agg(substr(t, 12)), '[]')
          from record_link l join record e on e.repository_id = l.target_repository_id and e.topic = 'backlog'
            and e.id = 'issue-' || l.target_number, unnest(e.tags) t
          where l.repository_id = i.repository_id and l.number = i.number and l.relation = 'partOf'
            and l.target_repository_id = i.repository_id and t like 'baseBranch:%') else '[]' end,
        'unawaited', case when i.integrates is not null then (select coalesce(json_agg(p.number order by p.number), '[]')
          from record_link l join item p on p.repository_id = l.repository_id and p.number = l.number and p.enrolled
          where l.target_repository_id = i.repository_id and l.target_number = i.integrates and l.relation = 'partOf'
            and l.repository_id = i.repository_id and p.number <> i.number and (p.state is null or p.state = 'parked')
            and p.number <> all (array(select b.target_number from record_link b where b.repository_id = i.repository_id
              and b.number = i.number and b.relation = 'blockedBy' and b.target_repository_id = i.repository_id
              and b.target_number is not null))) else '[]' end) as shape,
      case when i.hold_at is not null
        then json_build_object('by', i.hold_by, 'at', i.hold_at, 'note', i.hold_note) end as hold,
      i.started_under is not null and exists (select 1 from claim a
        where a.repository_id = i.repository_id and a.topic = 'backlog' and a.scope = 'subtree' and a.live
          and a.lease_expires_at > db_now() and a.fence = i.started_under
          and a.id = any (array(select 'issue-' || x from unnest(i.ancestors) x))) as started_above,
      case when i.review is not null
        then json_build_object('review', i.review, 'pull', i.review_pull, 'waits', i.review_waits) end as review,
      (select coalesce(json_agg(json_build_object('key', l.key, 'repositoryId', l.repository_id, 'number', l.number,
           'expiresAt', l.expires_at) order by l.key), '[]')
         from (
           select o.key, o.repository_id, o.number, o.expires_at from resource_lease o
           where o.repository_id = i.repository_id and o.number = i.number and o.ended is null and o.expires_at > db_now()
           union
           select o.key, o.repository_id, o.number, o.expires_at
           from repository f, resource_needs(i.tags, f.settings) n
           join resource_lease o on o.account = account_of(i.repository_id) and o.key = n.key
           where i.resource_keys is not null and f.id = i.repository_id and o.ended is null and o.expires_at > db_now()
         ) l) as leases,
      c.fence, c.live, c.owner, c.actor, c.region, c.lease_expires_at, c.reclaims, db_now() as now
    from item i
    join record r on r.repository_id = i.repository_id and r.topic = 'backlog' and r.id = 'issue-' || i.number
    join issue s on s.repository_id = i.repository_id and s.number = i.number
    left join claim c on c.repository_id = i.repository_id and c.topic = 'backlog' and c.id = r.id
    cross join lateral (
      select count(*) as parts, count(*) filter (where part.state is null or part.state = 'parked') as open_parts
      from record_link p join item part
        on part.repository_id = p.repository_id and part.number = p.number and part.enrolled
      where p.target_repository_id = i.repository_id and p.target_number = i.number and p.relation = 'partOf'
        and not (p.repository_id = i.repository_id and p.number = i.number)) as shape
    where i.repository_id = ${repositoryId} and ${where}
    order by i.number ${limit}`.compile(db),
  );
  const now = rows[0]?.now ?? new Date(0);
  return { now, items: rows.map((row) => toView(row, repositoryId, settings)) };
}
