-- Claims at full speed: what a claim must know about its item is kept on the item's row by whatever changes it,
-- so that one call decides and grants. And the line of those who wait.

alter table item
  add column issue_open     boolean not null default true,
  add column home_region    text,
  add column open_blockers  integer not null default 0,
  -- How many items are partOf this one, and which ones this one is part of, the root first.
  add column parts          integer not null default 0,
  add column ancestors      integer[] not null default '{}',
  -- The epic that this item integrates, if it does.
  add column integrates     integer,
  -- The epic's poison threshold, where it sets one.
  add column threshold      integer,
  -- 0 to 3; 4 when the tag is missing, doubled or unknown.
  add column priority       smallint not null default 4,
  add column phase          text,
  -- When the item's work was last seen moving (a push, a pull request), by the database's clock.
  add column active_at      timestamptz;

-- A grant that could not be delivered is taken back, and is no attempt.
alter table claim_grant drop constraint claim_grant_ended_check;
alter table claim_grant add constraint claim_grant_ended_check
  check (ended in ('released', 'completed', 'parked', 'lapsed', 'superseded', 'undelivered'));

-- ---------------------------------------------------------------- facts kept on the item's row

create function item_number(topic text, id text) returns integer language sql immutable as $$
  select case when topic = 'backlog' and id ~ '^issue-[1-9][0-9]{0,8}$' then substr(id, 7)::integer end
$$;

create function target_number(target text) returns integer language sql immutable as $$
  select case when target ~ '^mem/backlog/issue-[1-9][0-9]{0,8}$' then substr(target, 19)::integer end
$$;

-- Whether what an edge points at no longer blocks (domain/blockers.ts says the same of the facts).
create function blocker_satisfied(repo bigint, target text) returns boolean language sql stable as $$
  select coalesce((
    select case when i.number is null
             then s.gone is null and s.state = 'closed' and coalesce(s.state_reason, 'completed') = 'completed'
             else i.state = 'complete' and (select count(*) from record r, unnest(r.tags) t
                    where r.repository_id = repo and r.topic = 'backlog' and r.id = 'issue-' || s.number
                      and t like 'state:%') = 1 end
    from issue s left join item i on i.repository_id = s.repository_id and i.number = s.number
    where s.repository_id = repo and s.number = target_number(target)), false)
$$;

-- Brings one item's kept facts up to date. The row is locked first, in a statement of its own, so that the
-- counting statement sees what a concurrent refresh committed: two blockers that complete at once are both seen.
create function refresh_item(repo bigint, num integer) returns void language plpgsql volatile as $$
begin
  perform 1 from item where repository_id = repo and number = num for update;
  if not found then return; end if;
  update item i set
    issue_open = coalesce((select s.state = 'open' and s.gone is null from issue s
      where s.repository_id = repo and s.number = num), false),
    home_region = (select case when count(*) = 1 then min(substr(t, 12)) end from record r, unnest(r.tags) t
      where r.repository_id = repo and r.topic = 'backlog' and r.id = 'issue-' || num and t like 'homeRegion:%'),
    open_blockers = (select count(*) from record_link l
      where l.repository_id = repo and l.number = num and l.relation = 'blockedBy'
        and not blocker_satisfied(l.target_repository_id, l.target)),
    parts = (select count(*) from record_link l
      join item p on p.repository_id = l.repository_id and p.number = l.number and p.enrolled
      where l.target_repository_id = repo and l.target_number = num and l.relation = 'partOf'
        and not (l.repository_id = repo and l.number = num)),
    priority = coalesce((select case when count(*) = 1 and min(t) ~ '^priority:P[0-3]$' then substr(min(t), 11)::smallint end
      from record r, unnest(r.tags) t
      where r.repository_id = repo and r.topic = 'backlog' and r.id = 'issue-' || num and t like 'priority:%'), 4),
    phase = (select case when count(*) = 1 then min(substr(t, 7)) end from record r, unnest(r.tags) t
      where r.repository_id = repo and r.topic = 'backlog' and r.id = 'issue-' || num and t like 'phase:%'),
    ancestors = ancestors_of(repo, num),
    integrates = (select min(l.target_number) from record_link l
      where l.repository_id = repo and l.number = num
        and l.relation = 'integrates' and l.target_repository_id = repo),
    threshold = (select min(substr(t, 17)::integer) from record_link l, record r, unnest(r.tags) t
      where l.repository_id = repo and l.number = num and l.relation = 'partOf'
        and r.repository_id = l.target_repository_id and r.topic = 'backlog' and r.id = 'issue-' || l.target_number and t ~ '^poisonThreshold:[1-9][0-9]{0,3}$')
  where i.repository_id = repo and i.number = num;
end $$;

-- Every epic above an item, the root first; a cycle that came from GitHub ends the walk.
create function ancestors_of(repo bigint, num integer) returns integer[] language sql stable as $$
  with recursive up (number, depth, path) as (
    select num, 0, array[num]
    union all
    select l.target_number, u.depth + 1, u.path || l.target_number
    from up u join record_link l on l.repository_id = repo and l.number = u.number
      and l.relation = 'partOf' and l.target_repository_id = repo
    where l.target_number is not null and not l.target_number = any (u.path) and u.depth < 20)
  select coalesce(array_agg(number order by depth desc, number), '{}')
  from (select number, max(depth) as depth from up where depth > 0 group by number) as above
$$;

-- Everything below an epic, at any depth.
create function descendants_of(repo bigint, num integer) returns setof integer language sql stable as $$
  with recursive down (number, path) as (
    select num, array[num]
    union all
    select l.number, d.path || l.number
    from down d join record_link l on l.target_repository_id = repo and l.relation = 'partOf'
      and l.target_number = d.number and l.repository_id = repo
    where l.number is not null and not l.number = any (d.path))
  select distinct number from down where number <> num
$$;

create function refresh_dependents(repo bigint, num integer) returns void language plpgsql volatile as $$
declare d record;
begin
  -- In one order, so that two that complete at once do not lock each other out.
  for d in
    select l.repository_id, l.number from record_link l
    where l.target_repository_id = repo and l.target_number = num and l.relation = 'blockedBy'
    order by 1, 2
  loop
    if d.number is not null then perform refresh_item(d.repository_id, d.number); end if;
  end loop;
end $$;

create function on_record_link() returns trigger language plpgsql as $$
declare
  edge record := coalesce(new, old);
  num integer := edge.number;
  part integer;
begin
  if num is null or edge.relation not in ('blockedBy', 'partOf', 'integrates') then return null; end if;
  perform refresh_item(edge.repository_id, num);
  if edge.relation = 'partOf' and edge.target_repository_id = edge.repository_id then
    perform refresh_item(edge.repository_id, edge.target_number);
    for part in select * from descendants_of(edge.repository_id, num) order by 1 loop
      perform refresh_item(edge.repository_id, part);
    end loop;
  end if;
  return null;
end $$;
create trigger record_link_kept after insert or delete on record_link
  for each row execute function on_record_link();

create function on_item_state() returns trigger language plpgsql as $$
begin
  perform refresh_dependents(new.repository_id, new.number);
  return null;
end $$;
create trigger item_state_kept after update of state on item
  for each row when (old.state is distinct from new.state) execute function on_item_state();

-- What it is part of counts it, or no longer does.
create function on_item_enrolled() returns trigger language plpgsql as $$
declare epic integer;
begin
  foreach epic in array coalesce(new.ancestors, '{}') loop
    perform refresh_item(new.repository_id, epic);
  end loop;
  return null;
end $$;
create trigger item_enrolled_kept after update of enrolled on item
  for each row when (old.enrolled is distinct from new.enrolled) execute function on_item_enrolled();

create function on_item_insert() returns trigger language plpgsql as $$
begin
  perform refresh_item(new.repository_id, new.number);
  perform refresh_dependents(new.repository_id, new.number);
  return null;
end $$;
create trigger item_insert_kept after insert on item for each row execute function on_item_insert();

create function on_issue_state() returns trigger language plpgsql as $$
begin
  perform refresh_item(new.repository_id, new.number);
  perform refresh_dependents(new.repository_id, new.number);
  return null;
end $$;
create trigger issue_state_kept after update on issue for each row
  when (old.state is distinct from new.state or old.state_reason is distinct from new.state_reason
        or old.gone is distinct from new.gone) execute function on_issue_state();

create function on_record_tags() returns trigger language plpgsql as $$
declare num integer := item_number(new.topic, new.id);
declare part integer;
begin
  if num is null then return null; end if;
  perform refresh_item(new.repository_id, num);
  perform refresh_dependents(new.repository_id, num);
  for part in
    select l.number from record_link l where l.target_repository_id = new.repository_id
      and l.relation = 'partOf' and l.target_number = num and l.repository_id = new.repository_id
    order by 1
  loop
    if part is not null then perform refresh_item(new.repository_id, part); end if;
  end loop;
  return null;
end $$;
create trigger record_insert_kept after insert on record for each row
  when (new.topic = 'backlog') execute function on_record_tags();
create trigger record_tags_kept after update of tags on record for each row
  when (new.topic = 'backlog' and old.tags is distinct from new.tags) execute function on_record_tags();

select refresh_item(repository_id, number) from item;

-- ---------------------------------------------------------------- the line

-- Processes that run. One whose heart stopped waits for nothing any more.
create table replica (
  id              text primary key,
  alive_until     timestamptz not null
);

-- Those who wait for a record, first in, first out.
create table claim_waiter (
  repository_id   bigint not null,
  topic           text not null,
  id              text not null,
  ticket          bigint generated always as identity,
  replica         text not null,
  scope           text not null,
  queued_at       timestamptz not null default db_now(),
  primary key (repository_id, topic, id, ticket)
);
create index claim_waiter_by_replica on claim_waiter (replica);

-- Whether somebody whose process is alive waits for the record before this ticket (null: at all).
create function waits_before(repo bigint, p_topic text, p_id text, p_ticket bigint, p_scope text, moment timestamptz)
returns boolean language sql stable as $$
  select exists (select 1 from claim_waiter w join replica p on p.id = w.replica and p.alive_until > moment
    where w.repository_id = repo and w.topic = p_topic and w.id = p_id
      and (p_ticket is null or w.ticket < p_ticket) and (p_scope is null or w.scope = p_scope))
$$;

-- Wakes the line of a record, and those of the epics above it, when its claim ends or its lease gets shorter.
create function on_claim_end() returns trigger language plpgsql as $$
declare line record;
begin
  for line in
    select distinct w.topic, w.id from claim_waiter w
    where w.repository_id = new.repository_id and w.topic = new.topic
      and (w.id = new.id or w.id in (select 'issue-' || x from item i, unnest(i.ancestors) x
        where i.repository_id = new.repository_id and i.number = item_number(new.topic, new.id)))
  loop
    perform pg_notify('claim_line', new.repository_id || '/' || line.topic || '/' || line.id);
  end loop;
  return null;
end $$;
create trigger claim_end_wakes after update on claim for each row
  when ((old.live and not new.live) or (old.live and new.live and new.lease_expires_at < old.lease_expires_at))
  execute function on_claim_end();

-- ---------------------------------------------------------------- deciding and granting in one call

create function record_lock_key(repo bigint, topic text, id text) returns bigint language sql immutable as $$
  select hashtextextended(repo || '/' || topic || '/' || id, 7203)
$$;

-- Attempts since the last unpark: grants that started one and trusted markers, once per fence.
create function attempts_of(repo bigint, num integer, after bigint) returns integer language sql stable as $$
  select count(*)::integer from (
    select g.fence from claim_grant g where g.repository_id = repo and g.topic = 'backlog' and g.id = 'issue-' || num
      and g.new_attempt and g.fence > after
    union
    select m.fence from claim_marker m where m.repository_id = repo and m.issue_number = num and m.fence > after) as a
$$;

create function held(repo bigint, num integer, moment timestamptz) returns timestamptz language sql stable as $$
  select c.lease_expires_at from claim c where c.repository_id = repo and c.topic = 'backlog'
    and c.id = 'issue-' || num and c.live and c.lease_expires_at > moment
$$;

-- Whether an epic's fan-out, its integration item aside, is incomplete or being worked.
create function fan_out_open(repo bigint, epic integer, integration integer, moment timestamptz)
returns boolean language sql stable as $$
  select exists (select 1 from descendants_of(repo, epic) d join item p on p.repository_id = repo and p.number = d
    where p.number <> integration and p.parts = 0
      and (p.state is null or p.state = 'parked' or held(repo, p.number, moment) is not null))
$$;

-- The verdict on claiming an item; null reason: it is free. It repeats domain/why-not.ts, and a property test
-- shows that both always agree. `ahead` says whether others wait in line before the caller.
create type claim_verdict as (reason text, retry_at timestamptz, blockers integer[]);

create function judge_item(
  repo bigint, num integer, p_owner text, p_actor text, p_region text, p_deployment text, p_scope text,
  p_takeover boolean, ahead boolean, moment timestamptz
) returns claim_verdict language plpgsql stable as $$
declare
  i item;
  c claim;
  r repository;
  until timestamptz;
  quarantine_seconds integer;
begin
  select * into i from item where repository_id = repo and number = num;
  if not found or not i.enrolled then return row('missing', null, null)::claim_verdict; end if;
  if p_region <> p_deployment then return row('foreign_region', null, null)::claim_verdict; end if;
  if i.state = 'complete' then return row('complete', null, null)::claim_verdict; end if;
  if i.state = 'parked' then return row('parked', null, null)::claim_verdict; end if;
  if i.state = 'cancelled' or not i.issue_open then return row('closed', null, null)::claim_verdict; end if;
  if i.home_region is not null and i.home_region <> p_region then return row('foreign_region', null, null)::claim_verdict; end if;
  if i.parts > 0 and p_scope <> 'subtree' then return row('grouping', null, null)::claim_verdict; end if;
  if not i.admitted then return row('not_admitted', null, null)::claim_verdict; end if;
  if i.open_blockers > 0 then
    return row('blocked', null, array(
      select l.target_number from record_link l
      where l.repository_id = repo and l.number = num and l.relation = 'blockedBy'
        and l.target_repository_id = repo and l.target_number is not null
        and not blocker_satisfied(l.target_repository_id, l.target)
      order by l.created_at, l.target))::claim_verdict;
  end if;

  select * into c from claim where repository_id = repo and topic = 'backlog' and id = 'issue-' || num;
  if c.live and c.lease_expires_at > moment then return row('contended', c.lease_expires_at, null)::claim_verdict; end if;

  select * into r from repository where id = repo;
  if attempts_of(repo, num, i.attempts_after)
     >= coalesce(i.threshold, (r.settings ->> 'poisonThreshold')::integer, 3) then
    return row('poison', null, null)::claim_verdict;
  end if;
  if cardinality(i.ancestors) > 0 then
    select max(a.lease_expires_at) into until from claim a
    where a.repository_id = repo and a.topic = 'backlog' and a.id = any (
        select 'issue-' || x from unnest(i.ancestors) x)
      and a.scope = 'subtree' and a.live and a.lease_expires_at > moment;
    if until is not null then return row('ancestor_claimed', until, null)::claim_verdict; end if;
    -- A queued subtree claim stops new grants below it.
    if exists (select 1 from unnest(i.ancestors) x
        where waits_before(repo, 'backlog', 'issue-' || x, null, 'subtree', moment)) then
      return row('contended', null, null)::claim_verdict;
    end if;
    -- An item whose grouping's integration item is being worked.
    if exists (select 1 from item n where n.repository_id = repo and n.integrates = any (i.ancestors)
        and n.number <> num and held(repo, n.number, moment) is not null) then
      return row('not_quiesced', null, null)::claim_verdict;
    end if;
  end if;
  if i.integrates is not null then
    -- An integration item: its whole fan-out is complete, and nobody works on it.
    if fan_out_open(repo, i.integrates, num, moment) then
      return row('not_quiesced', null, null)::claim_verdict;
    end if;
  end if;
  if p_scope = 'subtree' then
    select max(held(repo, d, moment)) into until from descendants_of(repo, num) d;
    if until is not null then return row('contended', until, null)::claim_verdict; end if;
  end if;

  -- Lapsed but active: the work moves on although the lease ended. Never against the same owner.
  if c.live and i.active_at > c.lease_expires_at and not p_takeover
     and not (c.owner = p_owner and c.actor = p_actor) then
    quarantine_seconds := coalesce((r.settings ->> 'quarantineSeconds')::integer, 900);
    until := least(i.active_at + make_interval(secs => quarantine_seconds), c.lease_expires_at + interval '1 hour');
    if until > moment then return row('quarantined', until, null)::claim_verdict; end if;
  end if;
  if ahead then return row('contended', null, null)::claim_verdict; end if;
  return row(null, null, null)::claim_verdict;
end $$;

create function judge_record(repo bigint, p_topic text, p_id text, p_region text, p_deployment text, ahead boolean, moment timestamptz)
returns claim_verdict language plpgsql stable as $$
declare until timestamptz;
begin
  if not exists (select 1 from record where repository_id = repo and topic = p_topic and id = p_id
      and (expires_at is null or expires_at > moment)) then
    return row('missing', null, null)::claim_verdict;
  end if;
  if p_region <> p_deployment then return row('foreign_region', null, null)::claim_verdict; end if;
  select lease_expires_at into until from claim where repository_id = repo and topic = p_topic and id = p_id
    and live and lease_expires_at > moment;
  if until is not null or ahead then return row('contended', until, null)::claim_verdict; end if;
  return row(null, null, null)::claim_verdict;
end $$;

-- Takes a claim, or says why not, in one call. A refusal is found on a read-only path, before any lock or token;
-- what may be granted is judged again under the locks: ancestors shared, the root first, then the record. An
-- integration item and a subtree claim take their epic's lock whole, so that neither overlooks the other.
-- `p_wait`: a contended caller is put into the line. `p_ticket`: the caller is in the line already.
create function take_claim(
  repo bigint, p_topic text, p_id text, p_owner text, p_actor text, p_region text, p_deployment text,
  p_lease integer, p_scope text, p_takeover boolean, p_wait boolean, p_ticket bigint, p_replica text, p_mark_after integer
) returns jsonb language plpgsql volatile as $$
declare
  num integer := item_number(p_topic, p_id);
  moment timestamptz := db_now();
  verdict claim_verdict;
  i item;
  above integer;
  ahead boolean := false;
  before claim;
  fence bigint;
  same_owner boolean;
  new_attempt boolean;
  attempt integer;
  expires timestamptz;
  issue_facts record;
  tags text[];
  ticket bigint;
  threshold integer;
begin
  if p_ticket is null and not p_wait then
    if num is null then
      verdict := judge_record(repo, p_topic, p_id, p_region, p_deployment, false, moment);
    else
      verdict := judge_item(repo, num, p_owner, p_actor, p_region, p_deployment, p_scope, p_takeover, false, moment);
    end if;
    if verdict.reason is not null then return refusal_json(verdict, moment); end if;
  end if;

  if num is not null then
    select * into i from item where repository_id = repo and number = num;
    foreach above in array coalesce(i.ancestors, '{}') loop
      if above = i.integrates then
        perform pg_advisory_xact_lock(record_lock_key(repo, 'backlog', 'issue-' || above));
      else
        perform pg_advisory_xact_lock_shared(record_lock_key(repo, 'backlog', 'issue-' || above));
      end if;
    end loop;
  end if;
  perform pg_advisory_xact_lock(record_lock_key(repo, p_topic, p_id));

  moment := db_now();
  ahead := waits_before(repo, p_topic, p_id, p_ticket, null, moment);
  if num is null then
    verdict := judge_record(repo, p_topic, p_id, p_region, p_deployment, ahead, moment);
  else
    verdict := judge_item(repo, num, p_owner, p_actor, p_region, p_deployment, p_scope, p_takeover, ahead, moment);
  end if;
  if verdict.reason is not null then
    if verdict.reason = 'contended' and p_wait and p_ticket is null then
      insert into claim_waiter (repository_id, topic, id, replica, scope)
      values (repo, p_topic, p_id, p_replica, p_scope) returning claim_waiter.ticket into ticket;
      return refusal_json(verdict, moment) || jsonb_build_object('ticket', ticket);
    end if;
    return refusal_json(verdict, moment);
  end if;

  select * into before from claim where repository_id = repo and topic = p_topic and id = p_id;
  same_owner := before.owner = p_owner and before.actor = p_actor;
  new_attempt := not coalesce(before.live and same_owner and before.reclaims = 0, false);
  fence := next_fence(coalesce(before.fence, 0));
  expires := moment + make_interval(secs => p_lease);
  if before.live then
    update claim_grant g set ended = case when same_owner then 'lapsed' else 'superseded' end, ended_at = moment
    where g.repository_id = repo and g.topic = p_topic and g.id = p_id and g.fence = before.fence and g.ended is null;
  end if;
  insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt, previous_fence)
  values (repo, p_topic, p_id, fence, p_owner, p_actor, p_region, p_scope, moment, new_attempt, before.fence);
  insert into claim as k (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at, lease_expires_at)
  values (repo, p_topic, p_id, fence, true, p_owner, p_actor, p_region, p_scope, p_lease, moment, expires)
  on conflict (repository_id, topic, id) do update set
    fence = excluded.fence, live = true, owner = excluded.owner, actor = excluded.actor, region = excluded.region,
    scope = excluded.scope, lease_seconds = excluded.lease_seconds, granted_at = excluded.granted_at,
    lease_expires_at = excluded.lease_expires_at, released_at = null, grants = k.grants + 1,
    reclaims = case when new_attempt then 0 else k.reclaims + 1 end
  where k.fence < excluded.fence;
  if not found then raise exception 'a grant was not above the mark'; end if;
  if p_ticket is not null then
    delete from claim_waiter w where w.repository_id = repo and w.topic = p_topic and w.id = p_id and w.ticket = p_ticket;
  end if;

  if num is not null then
    attempt := attempts_of(repo, num, i.attempts_after);
    select s.title, s.html_url into issue_facts from issue s where s.repository_id = repo and s.number = num;
    select r.tags into tags from record r where r.repository_id = repo and r.topic = p_topic and r.id = p_id;
    select coalesce(i.threshold, (r.settings ->> 'poisonThreshold')::integer, 3) into threshold from repository r where r.id = repo;
    if new_attempt and exists (select 1 from repository r where r.id = repo and r.installation_id is not null) then
      insert into outbox (repository_id, issue_number, kind, promise, payload, next_try_at)
      values (repo, num, 'claim_marker', 'claim:' || fence, jsonb_build_object(
        'number', num, 'owner', p_owner, 'region', p_region, 'fence', fence, 'grantedAt', moment, 'leaseExpiresAt', expires,
        'attempt', attempt, 'threshold', threshold,
        'previous', case when before.fence is not null then jsonb_build_object(
          'owner', before.owner, 'fence', before.fence, 'lapsed', before.live) end),
        moment + make_interval(secs => p_mark_after));
    end if;
  else
    select r.title, null::text as html_url into issue_facts from record r
    where r.repository_id = repo and r.topic = p_topic and r.id = p_id;
  end if;
  return jsonb_build_object(
    'granted', true, 'fence', fence, 'grantedAt', moment, 'leaseExpiresAt', expires, 'newAttempt', new_attempt,
    'attempt', coalesce(attempt, before.grants + 1, 1), 'tags', to_jsonb(tags), 'title', issue_facts.title,
    'url', issue_facts.html_url,
    'previous', case when before.fence is not null then jsonb_build_object(
      'owner', before.owner, 'fence', before.fence, 'lapsed', before.live) end);
end $$;

create function refusal_json(verdict claim_verdict, moment timestamptz) returns jsonb language sql stable as $$
  select jsonb_build_object('granted', false, 'reason', verdict.reason,
    'retryAfterMs', case when verdict.retry_at is not null
      then greatest(1, ceil(extract(epoch from verdict.retry_at - moment) * 1000))::bigint end,
    'blockers', to_jsonb(coalesce(verdict.blockers, '{}')))
$$;
