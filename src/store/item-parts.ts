/**
 * What the rules ask about items besides their own rows, kind by kind: each is read of all items together, which are the
 * rows `chosen` of the statement that these are parts of, or those of them that are `shown` whole. Asked item by item, each kind would cost as much for every one
 * of them. `item-rows.ts` puts together what belongs to each item.
 */

import type {
  AnchorRow,
  BlockerRow,
  CycleRow,
  IncidentRow,
  LeaseRow,
  LinkRow,
  ResumeBlockRow,
} from "./item-columns.ts";

/** Of which item this is. */
interface Of {
  item: number;
}
type Fences = (Of & { fence: number })[];

/** What tells why an item cannot be claimed by anybody. */
export interface ReasonParts {
  parts: (Of & { parts: number; open: number; integrated: boolean })[];
  grants: Fences;
  markers: Fences;
  unposted: Fences;
  blockers: (BlockerRow & Of)[];
  cycles: (CycleRow & Of)[];
  incidents: (IncidentRow & Of)[];
  leases: (LeaseRow & Of)[];
  /** Epics of which somebody holds everything below, with the fence of that claim. */
  claimedEpics: Fences;
  /** Epics whose whole somebody waits in line for. */
  queuedEpics: Of[];
  /** Epics whose integration item is held, with that item. */
  integrating: (Of & { by: number })[];
  fanOutOpen: Of[];
  /** The base branches of what these are part of, where they target the default branch themselves. */
  parentBranches: (Of & { branch: string })[];
  defaultBranch: string;
}

/** What tells everything else, and who is in the way of a claim of an epic with all below it. */
export interface OtherParts {
  links: (LinkRow & Of)[];
  anchors: (AnchorRow & Of)[];
  resumes: (ResumeBlockRow & Of)[];
  heldBelow: Of[];
  integratedBy: (Of & { by: number })[];
  diagrams: Of[];
  /** Open parts of the epics that the items integrate. */
  openParts: (Of & { part: number })[];
}

/** The statement's first parameter is the repository. */
export type Queries<Parts> = { readonly [Key in keyof Parts]: string };

const numbers = "array(select number from chosen)";
const shownNumbers = "array(select number from shown)";
const shownWithParts = "array(select number from shown where parts > 0)";
const epics = "array(select distinct e from chosen, unnest(ancestors) e)";
const epicIds = "array(select distinct 'issue-' || e from chosen, unnest(ancestors) e)";
const withParts = "array(select number from chosen where parts > 0)";
const openState = (item: string) => `(${item}.state is null or ${item}.state = 'parked')`;
const jsonRows = (query: string) => `(select coalesce(json_agg(q), '[]') from (${query}) q)`;

export const REASON_QUERIES: Queries<ReasonParts> = {
  parts: jsonRows(`
    select p.target_number as item, count(*) as parts, count(*) filter (where ${openState("part")}) as open,
      exists (select 1 from record_link n where n.target_repository_id = $1
        and n.target_number = p.target_number and n.relation = 'integrates') as integrated
    from record_link p join item part
      on part.repository_id = p.repository_id and part.number = p.number and part.enrolled
    where p.target_repository_id = $1 and p.target_number = any (${withParts}) and p.relation = 'partOf'
      and not (p.repository_id = $1 and p.number = p.target_number)
    group by p.target_number`),
  // Without a claim there was no grant, and what never had a marker says so, as judge_item has it.
  grants: jsonRows(`
    select c.number as item, g.fence from chosen c join claim_grant g
      on g.repository_id = $1 and g.topic = 'backlog' and g.id = 'issue-' || c.number
    where c.fence is not null and g.new_attempt and g.fence > c.attempts_after`),
  markers: jsonRows(`
    select c.number as item, m.fence from chosen c join claim_marker m
      on m.repository_id = $1 and m.issue_number = c.number
    where c.marked and m.fence > c.attempts_after`),
  unposted: jsonRows(`
    select o.issue_number as item, split_part(o.promise, ':', 2)::bigint as fence from outbox o
    where o.repository_id = $1 and o.issue_number = any (array(select number from chosen where fence is not null))
      and o.state = 'pending' and o.promise like 'claim:%'`),
  // An item says itself most of what is asked of its issue, which is looked up where there is more to say.
  blockers: jsonRows(`
    select l.number as item, l.target_repository_id as "repositoryId", l.target, b.number is not null as "isItem",
      b.state, case when b.state is not null or b.tags::text like '%state:%' then b.tags end as tags, coalesce(b.issue_open, s.open) as "issueOpen", s.reason as "issueReason",
      b.ruling_owner as "rulingOwner", b.question, f.name as repository, f.heard,
      w.told
    from record_link l
    left join item b on b.repository_id = l.target_repository_id and b.number = l.target_number
    left join lateral (select s.state = 'open' and s.gone is null as open, coalesce(s.gone, s.state_reason) as reason
      from issue s where (b.number is null or b.state in ('parked', 'cancelled'))
        and s.repository_id = l.target_repository_id and s.number = l.target_number offset 0) s on true
    left join lateral (select f.owner || '/' || f.name as name, f.installed and not f.unread as heard from repository f
      where l.target_repository_id <> $1 and f.id = l.target_repository_id offset 0) f on true
    left join lateral (select json_build_object('open', w.open, 'stateReason', w.state_reason) as told
      from foreign_blocker w where l.target_repository_id <> $1 and w.repository_id = $1 and w.number = l.number
        and w.target_repository_id = l.target_repository_id and w.target = l.target offset 0) w on true
    where l.repository_id = $1 and l.number = any (${numbers}) and l.relation = 'blockedBy'
    order by l.created_at, l.target, l.target_repository_id`),
  // Where a member is complete, the circle is open at that place.
  cycles: jsonRows(`
    select y.number as item, y.relation, y.since, (
      select json_agg(json_build_object('repositoryId', m.repository_id, 'number', m.number,
          'repository', f.owner || '/' || f.name) order by m.place)
        from cycle_member m left join repository f on f.id = m.repository_id where m.cycle = y.cycle) as members
    from cycle_member y
    where y.repository_id = $1 and y.number = any (${numbers})
      and (y.relation <> 'blockedBy' or not exists (select 1 from cycle_member d where d.cycle = y.cycle
        and blocker_satisfied(d.repository_id, 'mem/backlog/issue-' || d.number)))
    order by y.since, y.cycle`),
  incidents: jsonRows(`
    select n.number as item, n.code, n.value, n.detail, n.since from incident n
    where n.repository_id = $1 and n.number = any (${numbers}) order by n.since`),
  leases: jsonRows(`
    select o.number as item, o.key, o.repository_id as "repositoryId", o.number, o.expires_at as "expiresAt"
    from resource_lease o
    where o.repository_id = $1 and o.number = any (${numbers}) and o.ended is null and o.expires_at > db_now()
    union
    select c.number, o.key, o.repository_id, o.number, o.expires_at
    from chosen c, repository f, resource_needs(c.tags, f.settings) n
    join resource_lease o on o.account = account_of($1) and o.key = n.key
    where c.resourced and f.id = $1 and o.ended is null and o.expires_at > db_now()
    order by 2`),
  claimedEpics: jsonRows(`
    select substr(a.id, 7)::int as item, a.fence from claim a
    where a.repository_id = $1 and a.topic = 'backlog' and a.scope = 'subtree' and a.live
      and a.lease_expires_at > db_now() and a.id = any (${epicIds})`),
  queuedEpics: jsonRows(`
    select substr(w.id, 7)::int as item from claim_waiter w
    join replica p on p.id = w.replica and p.alive_until > db_now()
    where w.repository_id = $1 and w.topic = 'backlog' and w.scope = 'subtree' and w.id = any (${epicIds})`),
  integrating: jsonRows(`
    select n.integrates as item, n.number as by from item n
    join claim k on k.repository_id = n.repository_id and k.topic = 'backlog' and k.id = 'issue-' || n.number
    where n.repository_id = $1 and n.integrates = any (${epics}) and k.live and k.lease_expires_at > db_now()`),
  // Mostly a part right below says so already, and nothing need be walked.
  fanOutOpen: jsonRows(`
    select c.number as item from chosen c
    where c.integrates is not null and (
      exists (select 1 from record_link l join item p on p.repository_id = l.repository_id and p.number = l.number
        where l.target_repository_id = $1 and l.target_number = c.integrates and l.relation = 'partOf'
          and l.repository_id = $1 and p.number <> c.number and p.parts = 0 and ${openState("p")})
      or fan_out_open($1, c.integrates, c.number, db_now()))`),
  parentBranches: jsonRows(`
    select l.number as item, substr(t, 12) as branch
    from record_link l
    join record e on e.repository_id = l.target_repository_id and e.topic = 'backlog' and e.id = 'issue-' || l.target_number
    cross join unnest(e.tags) t
    where l.repository_id = $1 and l.relation = 'partOf' and l.target_repository_id = $1
      and l.number = any (array(select number from chosen where cardinality(ancestors) > 0
        and 'baseBranch:' || (select default_branch from repository where id = $1) = any (tags)))
      and t like 'baseBranch:%'`),
  defaultBranch: "(select default_branch from repository where id = $1)",
};

export const OTHER_QUERIES: Queries<OtherParts> = {
  links: jsonRows(`
    select l.number as item, l.relation, l.target_repository_id as "repositoryId", l.target from record_link l
    where l.repository_id = $1 and l.number = any (${shownNumbers})
    order by l.relation, l.created_at, l.target, l.target_repository_id`),
  anchors: jsonRows(`
    select substr(a.id, 7)::int as item, a.target_repository_id as "repositoryId", a.target, a.branch, a.captured,
      a.current, a.drifted_at as "driftedAt"
    from anchor a
    where a.repository_id = $1 and a.topic = 'backlog' and a.id = any (array(select 'issue-' || number from shown))
    order by a.target_repository_id, a.target`),
  resumes: jsonRows(`
    select b.number as item, b.branch, b.pull_number as "pullNumber", b.sha, b.note, b.fence, b.owner,
      b.written_at as "writtenAt"
    from resume_block b where b.repository_id = $1 and b.number = any (${shownNumbers})`),
  // Also what was taken off the backlog, which the count of parts leaves out, may still be held.
  heldBelow: jsonRows(`
    select c.number as item from shown c
    where c.number = any (array(select l.target_number from record_link l
        where l.target_repository_id = $1 and l.target_number = any (${shownNumbers}) and l.relation = 'partOf'))
      and exists (select 1 from descendants_of($1, c.number) d where held($1, d, db_now()) is not null)`),
  integratedBy: jsonRows(`
    select n.integrates as item, n.number as by from item n
    where n.repository_id = $1 and n.integrates = any (${shownWithParts}) and n.enrolled
      and n.state is distinct from 'cancelled'
    order by n.number`),
  diagrams: jsonRows(`
    select c.number as item from shown c
    where c.parts > 0 and (has_diagram($1, c.number) or exists (select 1 from outbox o
      where o.repository_id = $1 and o.issue_number = c.number and o.state = 'pending'
        and o.promise = 'diagram:' || c.number))`),
  openParts: jsonRows(`
    select c.number as item, p.number as part from shown c
    join record_link l on l.target_repository_id = $1 and l.target_number = c.integrates and l.relation = 'partOf'
      and l.repository_id = $1
    join item p on p.repository_id = l.repository_id and p.number = l.number and p.enrolled
    where c.integrates is not null and p.number <> c.number and ${openState("p")}
    order by p.number`),
};
