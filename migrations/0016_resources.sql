-- Resource leases (protocol 9): access to something outside the code, which one item at a time has. Held by the item,
-- under the claim that took it.

-- ---------------------------------------------------------------- what an item needs

alter table item
  -- The resources that it needs for itself alone, in order. Null: its tags name none, and nothing else is asked.
  add column resource_keys text[];

create type resource_need as (key text, mode text, ttl integer);

-- What tags call for, in name order (domain/resources.ts says the same).
create function resource_needs(tags text[], settings jsonb) returns setof resource_need language sql immutable as $$
  with wanted as (
    select substr(t, 10) as key, coalesce(settings #>> array['resources', substr(t, 10), 'mode'], 'exclusive') as mode,
      null::integer as ttl
    from unnest(tags) t where t like 'resource:_%'
    union all
    select r.key, coalesce(r.value ->> 'mode', 'exclusive'), (r.value ->> 'ttlSeconds')::integer
    from unnest(tags) t, jsonb_each(coalesce(settings #> array['traits', substr(t, 7), 'resources'], '{}')) r
    where t like 'trait:_%')
  select w.key, case when bool_or(w.mode = 'exclusive') then 'exclusive' else 'advisory' end,
    least(86400, coalesce(max(w.ttl), (settings #>> array['resources', w.key, 'ttlSeconds'])::integer, 3600))
  from wanted w group by w.key order by w.key collate "C"
$$;

create function resource_keys_of(repo bigint, tags text[]) returns text[] language plpgsql stable as $$
begin
  if tags is null or not exists (select 1 from unnest(tags) t where t like 'resource:_%' or t like 'trait:_%') then
    return null;
  end if;
  return array(select n.key from repository r, resource_needs(tags, r.settings) n
    where r.id = repo and n.mode = 'exclusive' order by n.key collate "C");
end $$;

create function on_item_tags() returns trigger language plpgsql as $$
begin
  new.resource_keys := resource_keys_of(new.repository_id, new.tags);
  return new;
end $$;
-- Named to come after the trigger that brings the tags along (item_made).
create trigger item_resources_made before insert on item for each row execute function on_item_tags();
create trigger item_resources_kept before update of tags on item for each row
  when (old.tags is distinct from new.tags) execute function on_item_tags();

-- Another registry, other traits: those that name any are looked at again.
create function on_resource_settings() returns trigger language plpgsql as $$
begin
  perform 1 from item where repository_id = new.id and resource_keys is not null order by number for update;
  update item set resource_keys = resource_keys_of(new.id, tags)
  where repository_id = new.id and resource_keys is not null
    and resource_keys is distinct from resource_keys_of(new.id, tags);
  return null;
end $$;
create trigger repository_resources after update of settings on repository for each row
  when (old.settings -> 'resources' is distinct from new.settings -> 'resources'
        or old.settings -> 'traits' is distinct from new.settings -> 'traits') execute function on_resource_settings();

update item set resource_keys = resource_keys_of(repository_id, tags)
where exists (select 1 from unnest(tags) t where t like 'resource:_%' or t like 'trait:_%');
create index item_resources on item using gin (resource_keys) where resource_keys is not null;

-- ---------------------------------------------------------------- leases

-- Keys are shared by the repositories of one GitHub account. By its id, where that is known: an account may be renamed.
create function account_of(repo bigint) returns text language sql stable as $$
  select coalesce('#' || coalesce(i.account_id, (
      select j.account_id from installation j where lower(j.account_login) = lower(r.owner) and j.account_id is not null
      order by j.id desc limit 1)), lower(r.owner))
  from repository r left join installation i on i.id = r.installation_id where r.id = repo
$$;

-- Every interval for which an item held a resource, and how it ended.
create table resource_lease (
  repository_id   bigint not null,
  number          integer not null,
  id              bigint generated always as identity,
  account         text not null,
  key             text not null,
  -- The claim that it was taken under: the item's own, or one above it.
  fence           bigint not null,
  actor           text not null,
  acquired_at     timestamptz not null,
  -- Never before the lease of that claim.
  expires_at      timestamptz not null,
  -- Null: held until then. What ran out is written down when somebody comes by.
  ended           text check (ended in ('released', 'completed', 'parked', 'cancelled', 'on_hold', 'lapsed', 'superseded',
                    'undelivered', 'forced', 'expired')),
  ended_at        timestamptz,
  -- Who took it away by force.
  ended_by        text,
  primary key (repository_id, number, id)
);
-- One holder of a key, whatever else goes wrong.
create unique index resource_lease_held on resource_lease (account, key) where ended is null;
create index resource_lease_of_claim on resource_lease (repository_id, fence) where ended is null;
create index resource_lease_history on resource_lease (key, acquired_at desc, id desc);

-- A repository that lived only here became one of a GitHub account's.
create function on_resource_lease_moved() returns trigger language plpgsql as $$
begin
  new.account := account_of(new.repository_id);
  return new;
end $$;
create trigger resource_lease_moved before update of repository_id on resource_lease for each row
  when (old.repository_id <> new.repository_id) execute function on_resource_lease_moved();

-- Whether resources were taken under it: most claims end and are renewed without looking for any.
alter table claim add column resourced boolean not null default false;
alter table claim_grant
  add column resourced boolean not null default false,
  -- Resources that are not locked and whose use is only recorded: `consumedCredentials`.
  add column consumed  text[] not null default '{}';

-- Ends leases that are open: an item's, or those that were taken under a claim.
create function end_resources(repo bigint, num integer, p_fence bigint, how text) returns void
language plpgsql volatile as $$
declare
  moment timestamptz := db_now();
  held record;
begin
  for held in
    select l.number, l.id from resource_lease l
    where l.repository_id = repo and l.ended is null and (l.number = num or l.fence = p_fence)
    order by l.account, l.key collate "C" for update
  loop
    update resource_lease l set ended = case when l.expires_at > moment then how else 'expired' end,
      ended_at = least(moment, l.expires_at)
    where l.repository_id = repo and l.number = held.number and l.id = held.id and l.ended is null;
  end loop;
end $$;

-- The claim ends, or its item is granted to the next.
create function on_grant_ended() returns trigger language plpgsql as $$
begin
  perform end_resources(new.repository_id, null, new.fence, new.ended);
  return null;
end $$;
create trigger claim_grant_resources after update of ended on claim_grant for each row
  when (old.resourced and old.ended is null and new.ended is not null) execute function on_grant_ended();

-- The item leaves work although the claim that it is worked under, one above it, goes on.
create function on_item_rests() returns trigger language plpgsql as $$
begin
  perform end_resources(new.repository_id, new.number, null,
    case new.state when 'complete' then 'completed' when 'parked' then 'parked' when 'cancelled' then 'cancelled'
      else 'on_hold' end);
  return null;
end $$;
create trigger item_rests after update of state, hold_at on item for each row
  when ((new.state is not null and old.state is distinct from new.state) or (old.hold_at is null and new.hold_at is not null))
  execute function on_item_rests();

create function on_resource_lease_event() returns trigger language plpgsql as $$
begin
  if new.ended is null then
    perform log_event(new.repository_id, 'resource.acquired', new.number,
      jsonb_build_object('key', new.key, 'expiresAt', new.expires_at));
  else
    perform log_event(new.repository_id, 'resource.released', new.number,
      jsonb_build_object('key', new.key, 'how', new.ended));
  end if;
  return null;
end $$;
create trigger resource_lease_taken_event after insert on resource_lease for each row
  execute function on_resource_lease_event();
create trigger resource_lease_ended_event after update of ended on resource_lease for each row
  when (old.ended is null and new.ended is not null) execute function on_resource_lease_event();

create type resource_conflict as (keys text[], until timestamptz);

-- Which of some keys other items hold, and until when all of them may be free. No keys: nothing is in the way.
create function resources_in_the_way(repo bigint, num integer, needs resource_need[], moment timestamptz)
returns resource_conflict language plpgsql stable as $$
declare found_ resource_conflict;
begin
  select array_agg(l.key order by l.key collate "C"), max(l.expires_at) into found_
  from unnest(needs) n join resource_lease l on l.account = account_of(repo) and l.key = n.key
  where n.mode = 'exclusive' and l.ended is null and l.expires_at > moment
    and not (l.repository_id = repo and l.number = num);
  return found_;
end $$;

-- Takes the locks of the keys, in name order, after the item's: two items that want the same two keys cannot lock each
-- other out.
create function lock_resources(repo bigint, needs resource_need[]) returns void language plpgsql volatile as $$
declare
  account text := account_of(repo);
  need resource_need;
begin
  foreach need in array needs loop
    if need.mode = 'exclusive' then
      perform pg_advisory_xact_lock(hashtextextended('resource/' || account || '/' || need.key, 7204));
    end if;
  end loop;
end $$;

-- Takes what is needed, under those locks and with nothing in the way. Answers what the caller is told of it.
create function hold_resources(
  repo bigint, num integer, needs resource_need[], p_fence bigint, p_actor text, moment timestamptz, lease_ends timestamptz
) returns jsonb language plpgsql volatile as $$
declare
  p_account text := account_of(repo);
  need resource_need;
  expires timestamptz;
  held jsonb := '[]';
begin
  -- What the item still holds under a claim that has lapsed.
  perform end_resources(repo, num, null, 'superseded');
  foreach need in array needs loop
    if need.mode = 'exclusive' then
      update resource_lease l set ended = 'expired', ended_at = l.expires_at
      where l.account = p_account and l.key = need.key and l.ended is null and l.expires_at <= moment;
      expires := greatest(moment + make_interval(secs => need.ttl), lease_ends);
      insert into resource_lease (repository_id, number, account, key, fence, actor, acquired_at, expires_at)
      values (repo, num, p_account, need.key, p_fence, p_actor, moment, expires);
      held := held || jsonb_build_object('key', need.key, 'mode', 'exclusive', 'expiresAt', expires);
    else
      held := held || jsonb_build_object('key', need.key, 'mode', 'advisory', 'expiresAt', null);
    end if;
  end loop;
  return held;
end $$;

create function consumed_of(needs resource_need[]) returns text[] language sql immutable as $$
  select coalesce(array_agg(n.key order by n.key collate "C"), '{}') from unnest(needs) n where n.mode = 'advisory'
$$;

-- An item below a claimed epic comes into work under the epic's token, and takes what it needs. The epic's claim is
-- locked, so that no renewal overlooks what is taken under it. Answers the resources, or what is in the way; null: the
-- claim has ended.
create function take_resources_below(repo bigint, num integer, p_fence bigint, p_actor text) returns json
language plpgsql volatile as $$
declare
  moment timestamptz;
  f record;
  epic record;
  needs resource_need[];
  taken resource_conflict;
begin
  select i.tags, i.ancestors, i.resource_keys into f from item i where i.repository_id = repo and i.number = num;
  if f.resource_keys is null then return json_build_object('resources', '[]'::json); end if;
  update claim set resourced = true
  where repository_id = repo and topic = 'backlog' and id = any (select 'issue-' || x from unnest(f.ancestors) x)
    and fence = p_fence and live
  returning id, lease_expires_at into epic;
  if not found then return null; end if;
  select array_agg(n order by n.key collate "C") into needs
  from repository r, resource_needs(f.tags, r.settings) n where r.id = repo;
  if needs is null then return json_build_object('resources', '[]'::json); end if;
  perform lock_resources(repo, needs);
  moment := db_now();
  taken := resources_in_the_way(repo, num, needs, moment);
  if taken.keys is not null then
    return json_build_object('contended', taken.keys,
      'retryAfterMs', greatest(1, ceil(extract(epoch from taken.until - moment) * 1000))::bigint);
  end if;
  update claim_grant set resourced = true,
    consumed = array(select distinct c from unnest(consumed || consumed_of(needs)) c order by c)
  where repository_id = repo and topic = 'backlog' and id = epic.id and fence = p_fence;
  return json_build_object('resources', hold_resources(repo, num, needs, p_fence, p_actor, moment, epic.lease_expires_at));
end $$;

-- ---------------------------------------------------------------- a human's label on what is worked on

-- A human asked for it to be parked while somebody worked on it: nobody gets it after that, and the sweep parks it when
-- it is free (protocol 5). `park_at`: GitHub's time of the label.
alter table item add column park_by text, add column park_at timestamptz;
create index item_park_asked on item (repository_id, number) where park_by is not null;

-- ---------------------------------------------------------------- claims

alter type claim_verdict
  -- Its tags name resources; and those of them that are in the way.
  add attribute needs boolean, add attribute contended text[],
  -- It is blocked by a defect of its own.
  add attribute flawed boolean;

create or replace function refusal_json(verdict claim_verdict, moment timestamptz, ticket bigint) returns json
language plpgsql immutable as $$
begin
  return json_build_object('granted', false, 'reason', verdict.reason,
    'retryAfterMs', case when verdict.retry_at is not null
      then greatest(1, ceil(extract(epoch from verdict.retry_at - moment) * 1000))::bigint end,
    'blockers', coalesce(verdict.blockers, '{}'), 'ticket', ticket, 'contendedResources', verdict.contended,
    'flawed', verdict.flawed);
end $$;

-- As in 0008; and whom a human asked to be parked, resources that other items hold, and last of all the defects that take
-- an item out of the ready set (protocol 6).
create or replace function judge_item(
  repo bigint, num integer, p_owner text, p_actor text, p_region text, p_deployment text, p_scope text,
  p_takeover boolean, ahead boolean, moment timestamptz, p_ticket bigint default null
) returns claim_verdict language plpgsql stable as $$
declare
  p_id text := 'issue-' || num;
  f record;
  r record;
  near record;
  above text[];
  until timestamptz;
  taken resource_conflict;
  v claim_verdict;
begin
  select i.enrolled, i.admitted, i.state, i.issue_open, i.home_region, i.open_blockers, i.parts, i.ancestors,
    i.integrates, i.threshold, i.active_at, i.attempts_after, i.marked, i.tags, i.title, i.url, i.hold_at, i.review, i.resource_keys,
    i.park_by, i.offered, i.flawed,
    c.fence, c.live, c.owner, c.actor, c.lease_expires_at, c.reclaims, c.grants
  into f
  from item i left join claim c on c.repository_id = repo and c.topic = 'backlog' and c.id = p_id
  where i.repository_id = repo and i.number = num;
  if not found or not f.enrolled then v.reason := 'missing'; return v; end if;
  if p_region <> p_deployment then v.reason := 'foreign_region'; return v; end if;
  if f.state = 'complete' then v.reason := 'complete'; return v; end if;
  if f.state = 'parked' then v.reason := 'parked'; return v; end if;
  if f.state = 'cancelled' or not f.issue_open then v.reason := 'closed'; return v; end if;
  if f.home_region <> p_region then v.reason := 'foreign_region'; return v; end if;
  if f.parts > 0 and p_scope <> 'subtree' and is_grouping(repo, num, f.tags) then
    v.reason := 'grouping';
    return v;
  end if;
  if not f.admitted then v.reason := 'not_admitted'; return v; end if;
  -- An orchestrator holds it: no item blocks it.
  if f.hold_at is not null then v.reason := 'blocked'; v.blockers := '{}'; return v; end if;
  if f.open_blockers > 0 then
    v.reason := 'blocked';
    v.blockers := array(
      select l.target_number from record_link l
      where l.repository_id = repo and l.number = num and l.relation = 'blockedBy'
        and l.target_repository_id = repo and l.target_number is not null
        and not blocker_satisfied(l.target_repository_id, l.target)
      order by l.created_at, l.target);
    return v;
  end if;
  if f.live and f.lease_expires_at > moment then
    v.reason := 'contended';
    v.retry_at := f.lease_expires_at;
    return v;
  end if;

  -- A human's label: nobody goes on after the one who has it now.
  if f.park_by is not null then v.reason := 'parked'; return v; end if;

  -- Its pull request waits for people or checks: nobody's turn, the same owner's included.
  if f.review = 'in_review' then v.reason := 'in_review'; return v; end if;

  -- Without a claim before and without a marker there was no attempt.
  if f.fence is null and not f.marked then
    v.attempts := 0;
  else
    v.attempts := attempts_of(repo, num, f.attempts_after);
  end if;
  select settings, installation_id into r from repository where id = repo;
  v.threshold := coalesce(f.threshold, (r.settings ->> 'poisonThreshold')::integer, 3);
  if v.attempts >= v.threshold then v.reason := 'poison'; return v; end if;
  if cardinality(f.ancestors) > 0 then
    above := array(select 'issue-' || x from unnest(f.ancestors) x);
    select
      (select max(a.lease_expires_at) from claim a where a.repository_id = repo and a.topic = 'backlog'
        and a.id = any (above) and a.scope = 'subtree' and a.live and a.lease_expires_at > moment) as claimed_until,
      -- A queued subtree claim stops new grants below it.
      exists (select 1 from claim_waiter w join replica p on p.id = w.replica and p.alive_until > moment
        where w.repository_id = repo and w.topic = 'backlog' and w.id = any (above) and w.scope = 'subtree') as queued,
      -- An item whose grouping's integration item is being worked.
      exists (select 1 from item n join claim k on k.repository_id = repo and k.topic = 'backlog'
          and k.id = 'issue-' || n.number and k.live and k.lease_expires_at > moment
        where n.repository_id = repo and n.integrates = any (f.ancestors) and n.number <> num) as integrating
    into near;
    if near.claimed_until is not null then
      v.reason := 'ancestor_claimed';
      v.retry_at := near.claimed_until;
      return v;
    end if;
    if near.queued then v.reason := 'contended'; return v; end if;
    if near.integrating then v.reason := 'not_quiesced'; return v; end if;
  end if;
  -- An integration item: its whole fan-out is complete, and nobody works on it.
  if f.integrates is not null and fan_out_open(repo, f.integrates, num, moment) then
    v.reason := 'not_quiesced';
    return v;
  end if;
  if p_scope = 'subtree' then
    select max(held(repo, d, moment)) into until from descendants_of(repo, num) d;
    if until is not null then v.reason := 'contended'; v.retry_at := until; return v; end if;
  end if;

  -- Lapsed but active: the work moves on although the lease ended. Never against the same owner.
  if f.live and f.active_at > f.lease_expires_at and not p_takeover
     and not (f.owner = p_owner and f.actor = p_actor) then
    until := least(f.active_at + make_interval(secs => coalesce((r.settings ->> 'quarantineSeconds')::integer, 900)),
      f.lease_expires_at + interval '1 hour');
    if until > moment then v.reason := 'quarantined'; v.retry_at := until; return v; end if;
  end if;
  if ahead or (ahead is null and exists (select 1 from claim_waiter w
      where w.repository_id = repo and w.topic = 'backlog' and w.id = p_id and (p_ticket is null or w.ticket < p_ticket)
        and exists (select 1 from replica p where p.id = w.replica and p.alive_until > moment))) then
    v.reason := 'contended';
    return v;
  end if;
  if f.resource_keys is not null then
    taken := resources_in_the_way(repo, num, array(select n from resource_needs(f.tags, r.settings) n), moment);
    if taken.keys is not null then
      v.reason := 'resource_unavailable';
      v.retry_at := taken.until;
      v.contended := taken.keys;
      return v;
    end if;
  end if;
  -- What is offered has none; only the others are looked at.
  if not f.offered and (f.flawed or not tags_sound(f.tags)) then
    v.reason := 'blocked';
    v.blockers := '{}';
    v.flawed := true;
    return v;
  end if;
  return row(null, null, null, f.fence, f.live, f.owner, f.actor, f.reclaims, f.grants,
    v.attempts, v.threshold, r.installation_id is not null, f.tags, f.title, f.url, f.review,
    f.resource_keys is not null, null, false)::claim_verdict;
end $$;

create or replace function judge_record(
  repo bigint, p_topic text, p_id text, p_region text, p_deployment text, p_ticket bigint, moment timestamptz
) returns claim_verdict language plpgsql stable as $$
declare
  f record;
  v claim_verdict;
begin
  select m.title, c.fence, c.live, c.owner, c.actor, c.lease_expires_at, c.reclaims, c.grants
  into f
  from record m left join claim c on c.repository_id = repo and c.topic = p_topic and c.id = p_id
  where m.repository_id = repo and m.topic = p_topic and m.id = p_id
    and (m.expires_at is null or m.expires_at > moment);
  if not found then v.reason := 'missing'; return v; end if;
  if p_region <> p_deployment then v.reason := 'foreign_region'; return v; end if;
  if f.live and f.lease_expires_at > moment then
    v.reason := 'contended';
    v.retry_at := f.lease_expires_at;
    return v;
  end if;
  if exists (select 1 from claim_waiter w
      where w.repository_id = repo and w.topic = p_topic and w.id = p_id and (p_ticket is null or w.ticket < p_ticket)
        and exists (select 1 from replica p where p.id = w.replica and p.alive_until > moment)) then
    v.reason := 'contended';
    return v;
  end if;
  return row(null, null, null, f.fence, f.live, f.owner, f.actor, f.reclaims, f.grants,
    null, null, false, null, f.title, null, null, false, null, false)::claim_verdict;
end $$;

-- As in 0008; and what the item needs is taken with the claim, all of it or nothing. Whoever needs nothing pays for one
-- look at a boolean.
create or replace function take_claim(
  repo bigint, p_topic text, p_id text, p_owner text, p_actor text, p_region text, p_deployment text,
  p_lease integer, p_scope text, p_takeover boolean, p_wait boolean, p_ticket bigint, p_replica text, p_mark_after integer
) returns json language plpgsql volatile as $$
declare
  num integer := item_number(p_topic, p_id);
  lock_key bigint := hashtextextended(repo || '/' || p_topic || '/' || p_id, 7203);
  moment timestamptz := db_now();
  f record;
  v claim_verdict;
  above integer;
  token bigint;
  same_owner boolean;
  new_attempt boolean := true;
  expires timestamptz;
  previous json;
  place bigint;
  needs resource_need[];
  taken resource_conflict;
  held jsonb;
begin
  if repo < 0 and not hold_local_repository(repo) then
    v.reason := 'moved';
    return refusal_json(v, moment, null);
  end if;
  if num is not null then
    select ancestors, integrates into f from item where repository_id = repo and number = num;
    if cardinality(f.ancestors) > 0 then
      foreach above in array f.ancestors loop
        if above = f.integrates then
          perform pg_advisory_xact_lock(hashtextextended(repo || '/backlog/issue-' || above, 7203));
        else
          perform pg_advisory_xact_lock_shared(hashtextextended(repo || '/backlog/issue-' || above, 7203));
        end if;
      end loop;
    end if;
  end if;
  if not pg_try_advisory_xact_lock(lock_key) then
    -- Somebody decides on the record just now: who is refused whatever they decide need not wait for that.
    if p_ticket is null and not p_wait then
      if num is null then
        v := judge_record(repo, p_topic, p_id, p_region, p_deployment, null, moment);
      else
        v := judge_item(repo, num, p_owner, p_actor, p_region, p_deployment, p_scope, p_takeover, null, moment);
      end if;
      if v.reason is not null then return refusal_json(v, moment, null); end if;
    end if;
    perform pg_advisory_xact_lock(lock_key);
  end if;

  moment := db_now();
  if p_ticket is not null and not exists (select 1 from claim_waiter w
      where w.repository_id = repo and w.topic = p_topic and w.id = p_id and w.ticket = p_ticket) then
    v.reason := 'timeout';
    return refusal_json(v, moment, null);
  end if;
  if num is null then
    v := judge_record(repo, p_topic, p_id, p_region, p_deployment, p_ticket, moment);
  else
    v := judge_item(repo, num, p_owner, p_actor, p_region, p_deployment, p_scope, p_takeover, null, moment, p_ticket);
  end if;
  if v.reason is not null then
    if v.reason = 'contended' and p_wait and p_ticket is null then
      insert into claim_waiter (repository_id, topic, id, replica, scope)
      values (repo, p_topic, p_id, p_replica, p_scope) returning ticket into place;
    end if;
    return refusal_json(v, moment, place);
  end if;

  if v.needs then
    select array_agg(n order by n.key collate "C") into needs
    from repository r, resource_needs(v.tags, r.settings) n where r.id = repo;
  end if;
  if needs is not null then
    perform lock_resources(repo, needs);
    -- Judged anew: while it waited for the locks, somebody may have taken them, or what was in the way ran out.
    moment := db_now();
    taken := resources_in_the_way(repo, num, needs, moment);
    if taken.keys is not null then
      v.reason := 'resource_unavailable';
      v.retry_at := taken.until;
      v.contended := taken.keys;
      return refusal_json(v, moment, null);
    end if;
  end if;

  token := next_fence(coalesce(v.fence, 0));
  expires := moment + make_interval(secs => p_lease);
  if v.fence is null then
    insert into claim (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at,
      lease_expires_at, resourced)
    values (repo, p_topic, p_id, token, true, p_owner, p_actor, p_region, p_scope, p_lease, moment, expires,
      needs is not null);
  else
    same_owner := v.owner = p_owner and v.actor = p_actor;
    new_attempt := not (v.live and same_owner and v.reclaims = 0);
    previous := json_build_object('owner', v.owner, 'fence', v.fence, 'lapsed', v.live);
    if v.live then
      update claim_grant set ended = case when same_owner then 'lapsed' else 'superseded' end, ended_at = moment
      where repository_id = repo and topic = p_topic and id = p_id and fence = v.fence and ended is null;
    end if;
    update claim set fence = token, live = true, owner = p_owner, actor = p_actor, region = p_region, scope = p_scope,
      lease_seconds = p_lease, granted_at = moment, lease_expires_at = expires, released_at = null, grants = grants + 1,
      reclaims = case when new_attempt then 0 else reclaims + 1 end, resourced = needs is not null
    where repository_id = repo and topic = p_topic and id = p_id and fence = v.fence and fence < token;
    if not found then raise exception 'a grant was not above the mark'; end if;
  end if;
  insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt,
    previous_fence, resourced, consumed)
  values (repo, p_topic, p_id, token, p_owner, p_actor, p_region, p_scope, moment, new_attempt, v.fence,
    needs is not null, case when needs is null then '{}' else consumed_of(needs) end);
  if needs is not null then held := hold_resources(repo, num, needs, token, p_actor, moment, expires); end if;
  if p_ticket is not null then
    delete from claim_waiter w where w.repository_id = repo and w.topic = p_topic and w.id = p_id and w.ticket = p_ticket;
  end if;
  if num is null then
    v.attempts := coalesce(v.grants, 0) + 1;
  else
    if new_attempt then v.attempts := v.attempts + 1; end if;
    if new_attempt and v.markable then
      insert into outbox (repository_id, issue_number, kind, promise, payload, created_at, next_try_at)
      values (repo, num, 'claim_marker', 'claim:' || token, jsonb_build_object(
        'number', num, 'owner', p_owner, 'region', p_region, 'fence', token, 'grantedAt', moment, 'leaseExpiresAt', expires,
        'attempt', v.attempts, 'threshold', v.threshold, 'previous', previous),
        moment, moment + make_interval(secs => p_mark_after));
    end if;
  end if;
  return json_build_object(
    'granted', true, 'fence', token, 'grantedAt', moment, 'leaseExpiresAt', expires, 'newAttempt', new_attempt,
    'attempt', v.attempts, 'tags', v.tags, 'title', v.title, 'url', v.url, 'previous', previous,
    'ownPull', v.review is not null, 'resources', held);
end $$;

-- Moves the lease's end, as in 0004; and what was taken under the claim never ends before it.
create or replace function renew_claim(
  repo bigint, p_topic text, p_id text, p_fence bigint, p_actor text, p_lease integer
) returns json language plpgsql volatile as $$
declare
  moment timestamptz;
  c record;
  expires timestamptz;
begin
  if repo < 0 and not hold_local_repository(repo) then return json_build_object('verdict', 'moved'); end if;
  perform pg_advisory_xact_lock(hashtextextended(repo || '/' || p_topic || '/' || p_id, 7203));
  moment := db_now();
  select fence, live, actor, lease_expires_at, resourced into c from claim
  where repository_id = repo and topic = p_topic and id = p_id;
  if c.resourced then
    -- Whoever waits for what it holds is let by first, or sees what becomes of it: the clock is read after that.
    perform 1 from claim where repository_id = repo and topic = p_topic and id = p_id for update;
    perform 1 from resource_lease l where l.repository_id = repo and l.fence = p_fence and l.ended is null
      order by l.account, l.key collate "C" for update;
    moment := db_now();
  end if;
  if c.fence is null and not exists (select 1 from record where repository_id = repo and topic = p_topic and id = p_id
      and (expires_at is null or expires_at > moment)) then
    return json_build_object('verdict', 'missing');
  end if;
  if c.fence is null or c.fence <> p_fence or not c.live then return json_build_object('verdict', 'superseded'); end if;
  if c.actor <> p_actor then return json_build_object('verdict', 'not_holder'); end if;
  if c.lease_expires_at <= moment then return json_build_object('verdict', 'superseded'); end if;
  expires := moment + make_interval(secs => p_lease);
  update claim set lease_expires_at = expires, lease_seconds = p_lease
  where repository_id = repo and topic = p_topic and id = p_id and fence = p_fence and actor = p_actor and live
  returning resourced into c.resourced;
  if c.resourced then
    update resource_lease l set expires_at = greatest(l.expires_at, expires)
    where l.repository_id = repo and l.fence = p_fence and l.ended is null and l.expires_at > moment;
  end if;
  return json_build_object('verdict', 'renew', 'leaseExpiresAt', expires, 'previousLeaseExpiresAt', c.lease_expires_at);
end $$;

-- As in 0008; and what a human asked to be parked is parked when its claim ends.
create or replace function release_claim(
  repo bigint, p_topic text, p_id text, p_fence bigint, p_actor text, p_note text, p_parks boolean
) returns text language plpgsql volatile as $$
declare
  num integer := item_number(p_topic, p_id);
  moment timestamptz;
  c record;
  i record;
begin
  if repo < 0 and not hold_local_repository(repo) then return 'moved'; end if;
  perform pg_advisory_xact_lock(hashtextextended(repo || '/' || p_topic || '/' || p_id, 7203));
  moment := db_now();
  select fence, live, actor, owner into c from claim where repository_id = repo and topic = p_topic and id = p_id;
  if not found then
    return case when exists (select 1 from record where repository_id = repo and topic = p_topic and id = p_id
      and (expires_at is null or expires_at > moment)) then 'unclaimed' else 'missing' end;
  end if;
  if c.fence <> p_fence then return 'stale'; end if;
  if not c.live then return 'unclaimed'; end if;
  if c.actor <> p_actor then return 'not_holder'; end if;
  if num is not null then
    select n.state, r.installation_id is not null as markable,
      n.state is null and n.review is distinct from 'in_review' and (n.park_by is not null
        or attempts_of(repo, num, n.attempts_after)
          >= coalesce(n.threshold, (r.settings ->> 'poisonThreshold')::integer, 3)) as poisoned
    into i
    from item n join repository r on r.id = repo
    where n.repository_id = repo and n.number = num;
    if i.poisoned and not p_parks then return 'poisoned'; end if;
  end if;
  update claim set live = false, released_at = moment
  where repository_id = repo and topic = p_topic and id = p_id and fence = p_fence and live;
  update claim_grant set ended = 'released', ended_at = moment
  where repository_id = repo and topic = p_topic and id = p_id and fence = p_fence and ended is null;
  if num is null then return 'release'; end if;
  if i.poisoned then return 'poisoned'; end if;
  if i.markable and i.state is null then
    insert into outbox (repository_id, issue_number, kind, promise, payload, created_at, next_try_at)
    values (repo, num, 'release_outcome', 'outcome:' || num || ':' || p_fence || ':released',
      jsonb_build_object('number', num, 'owner', c.owner, 'fence', p_fence, 'note', p_note), moment, moment)
    on conflict (repository_id, promise) where state = 'pending' do nothing;
  end if;
  return 'release';
end $$;
