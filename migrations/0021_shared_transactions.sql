-- What many do at the same time is one transaction, whatever each of them does, and fewer statements for each.

-- ---------------------------------------------------------------- triggers

-- PostgreSQL reads a trigger's condition anew from its text in each statement: a function that looks for itself is cheaper.

drop trigger claim_end_wakes on claim;
drop trigger claim_insert_checked on claim;
drop trigger claim_grant_checked on claim;
drop trigger claim_grant_event on claim_grant;
drop trigger claim_grant_end_event on claim_grant;
drop trigger claim_grant_resources on claim_grant;
drop function on_claim_end();
drop function on_grant_end_event();

-- The claim checks of a granted item's pull requests are asked for; a subtree claim's, also those below.
create function ask_checks_of_grant(repo bigint, num integer, p_scope text) returns void language plpgsql volatile as $$
declare part integer;
begin
  if exists (select 1 from own_pull where repository_id = repo and number = num) then
    perform ask_claim_checks_of(repo, num);
  end if;
  if p_scope = 'subtree' then
    for part in select d from descendants_of(repo, num) d order by 1 loop
      perform ask_claim_checks_of(repo, part);
    end loop;
  end if;
end $$;

-- Wakes the line of a record, and those of the epics above it, when its claim ends or its lease gets shorter.
create function wake_lines(repo bigint, p_topic text, p_id text) returns void language plpgsql volatile as $$
declare
  num integer := item_number(p_topic, p_id);
  lines text[] := array[p_id];
  line text;
begin
  -- Almost always nobody waits in the whole topic.
  if not exists (select 1 from claim_waiter where repository_id = repo and topic = p_topic) then return; end if;
  if num is not null then
    lines := lines || coalesce((select array_agg('issue-' || x) from item i, unnest(i.ancestors) x
      where i.repository_id = repo and i.number = num), '{}');
  end if;
  for line in
    select distinct w.id from claim_waiter w
    where w.repository_id = repo and w.topic = p_topic and w.id = any (lines)
  loop
    perform pg_notify('claim_line', repo || '/' || p_topic || '/' || line);
  end loop;
end $$;

create or replace function on_claim_grant() returns trigger language plpgsql as $$
declare num integer := item_number(new.topic, new.id);
begin
  if num is not null then perform ask_checks_of_grant(new.repository_id, num, new.scope); end if;
  return null;
end $$;
create trigger claim_made after insert on claim for each row execute function on_claim_grant();

create function on_claim_changed() returns trigger language plpgsql as $$
declare num integer;
begin
  if old.fence <> new.fence then
    num := item_number(new.topic, new.id);
    if num is not null then perform ask_checks_of_grant(new.repository_id, num, new.scope); end if;
  end if;
  if old.live and (not new.live or new.lease_expires_at < old.lease_expires_at) then
    perform wake_lines(new.repository_id, new.topic, new.id);
  end if;
  return null;
end $$;
create trigger claim_changed after update on claim for each row execute function on_claim_changed();

create or replace function on_grant_event() returns trigger language plpgsql as $$
declare num integer := item_number(new.topic, new.id);
begin
  if num is null then return null; end if;
  insert into event_new (repository_id, type, number, data, at)
  values (new.repository_id, 'item.claimed', num, jsonb_build_object(
    'owner', new.owner, 'region', new.region, 'scope', new.scope, 'fencingToken', new.fence,
    'custodyChanged', new.new_attempt), new.granted_at);
  return null;
end $$;
create trigger claim_grant_made after insert on claim_grant for each row execute function on_grant_event();

-- The claim ended, or its item was granted to the next.
create or replace function on_grant_ended() returns trigger language plpgsql as $$
declare num integer;
begin
  if old.ended is not null or new.ended is null then return null; end if;
  num := item_number(new.topic, new.id);
  if num is not null then
    insert into event_new (repository_id, type, number, data)
    values (new.repository_id, 'item.released', num, jsonb_build_object(
      'owner', new.owner, 'fencingToken', new.fence, 'how', new.ended));
  end if;
  if old.resourced then perform end_resources(new.repository_id, null, new.fence, new.ended); end if;
  return null;
end $$;
create trigger claim_grant_ended after update of ended on claim_grant for each row execute function on_grant_ended();

-- ---------------------------------------------------------------- claims

-- Decides on a claim and grants it, under the locks that `take_claim` or `lock_at_once` took.
create function decide_claim(
  repo bigint, p_topic text, p_id text, p_owner text, p_actor text, p_region text, p_deployment text,
  p_lease integer, p_scope text, p_takeover boolean, p_wait boolean, p_ticket bigint, p_replica text, p_mark_after integer
) returns json language plpgsql volatile as $$
declare
  num integer := item_number(p_topic, p_id);
  moment timestamptz := db_now();
  v claim_verdict;
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

-- As in 0016: takes the locks, then decides.
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
  return decide_claim(repo, p_topic, p_id, p_owner, p_actor, p_region, p_deployment, p_lease, p_scope, p_takeover, p_wait,
    p_ticket, p_replica, p_mark_after);
end $$;

-- As in 0019: what it must know is read at once.
create or replace function release_claim(
  repo bigint, p_topic text, p_id text, p_fence bigint, p_actor text, p_note text, p_parks boolean
) returns text language plpgsql volatile as $$
declare
  num integer := item_number(p_topic, p_id);
  moment timestamptz;
  c record;
begin
  if repo < 0 and not hold_local_repository(repo) then return 'moved'; end if;
  perform pg_advisory_xact_lock(hashtextextended(repo || '/' || p_topic || '/' || p_id, 7203));
  moment := db_now();
  select k.fence, k.live, k.actor, k.owner, k.grants, n.marked, n.attempts_after, n.park_by is not null as park_asked,
    n.number is not null and n.state is null and n.review is distinct from 'in_review' as poisoned,
    n.number is not null and n.state is null and r.installation_id is not null as told,
    coalesce(n.threshold, (r.settings ->> 'poisonThreshold')::integer, 3) as threshold
  into c
  from claim k left join item n on n.repository_id = repo and n.number = num left join repository r on r.id = repo
  where k.repository_id = repo and k.topic = p_topic and k.id = p_id;
  if not found then
    return case when exists (select 1 from record where repository_id = repo and topic = p_topic and id = p_id
      and (expires_at is null or expires_at > moment)) then 'unclaimed' else 'missing' end;
  end if;
  if c.fence <> p_fence then return 'stale'; end if;
  if not c.live then return 'unclaimed'; end if;
  if c.actor <> p_actor then return 'not_holder'; end if;
  -- Without a marker there are no more attempts than grants.
  if c.poisoned and not c.park_asked then
    c.poisoned := (c.marked or c.grants >= c.threshold) and attempts_of(repo, num, c.attempts_after) >= c.threshold;
  end if;
  if c.poisoned and not p_parks then return 'poisoned'; end if;
  update claim set live = false, released_at = moment
  where repository_id = repo and topic = p_topic and id = p_id and fence = p_fence and live;
  update claim_grant set ended = 'released', ended_at = moment
  where repository_id = repo and topic = p_topic and id = p_id and fence = p_fence and ended is null;
  if c.poisoned then return 'poisoned'; end if;
  if c.told then
    insert into outbox (repository_id, issue_number, kind, promise, payload, created_at, next_try_at)
    values (repo, num, 'release_outcome', 'outcome:' || num || ':' || p_fence || ':released',
      jsonb_build_object('number', num, 'owner', c.owner, 'fence', p_fence, 'note', p_note), moment, moment)
    on conflict (repository_id, promise) where state = 'pending' do nothing;
  end if;
  return 'release';
end $$;

-- ---------------------------------------------------------------- many at once

-- What one of many asks, in a transaction that they share: by the name of the function, with its parameters. Null: it is to
-- be asked alone (`lock_at_once` in 0019).
create function answer_at_once(what text, p jsonb) returns json language plpgsql volatile as $$
declare
  repo bigint := p ->> 0;
  p_topic text := p ->> 1;
  p_id text := p ->> 2;
begin
  if not lock_at_once(repo, p_topic, p_id) then return null; end if;
  case what
    when 'take_claim' then
      return json_build_object(
        'claim', decide_claim(repo, p_topic, p_id, p ->> 3, p ->> 4, p ->> 5, p ->> 6, (p ->> 7)::integer, p ->> 8,
          (p ->> 9)::boolean, (p ->> 10)::boolean, (p ->> 11)::bigint, p ->> 12, (p ->> 13)::integer),
        'anchored', exists (select 1 from anchor a where a.repository_id = repo and a.topic = p_topic and a.id = p_id));
    when 'renew_claim' then
      return renew_claim(repo, p_topic, p_id, (p ->> 3)::bigint, p ->> 4, (p ->> 5)::integer);
    when 'release_claim' then
      return to_json(release_claim(repo, p_topic, p_id, (p ->> 3)::bigint, p ->> 4, p ->> 5, (p ->> 6)::boolean));
    when 'write_scalars' then
      return write_record(repo, p_topic, p_id, (p ->> 3)::bigint, p ->> 4, p ->> 5, p -> 6, '{}', '{}', (p ->> 7)::boolean);
  end case;
end $$;
