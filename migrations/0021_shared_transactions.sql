-- What many do at the same time is one transaction, whatever each of them does, and fewer statements for each.

-- ---------------------------------------------------------------- triggers

-- PostgreSQL reads a trigger's condition anew from its text in each statement, so that a function that looks for itself is
-- cheaper; and what is written many rows at once is followed up at once.

drop trigger claim_end_wakes on claim;
drop trigger claim_insert_checked on claim;
drop trigger claim_grant_checked on claim;
drop trigger claim_grant_event on claim_grant;
drop trigger claim_grant_end_event on claim_grant;
drop trigger claim_grant_resources on claim_grant;
drop function on_claim_end();
drop function on_claim_grant();
drop function on_grant_event();
drop function on_grant_end_event();
drop function on_grant_ended();

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

create function on_claims_made() returns trigger language plpgsql as $$
declare m record;
begin
  for m in
    select n.repository_id, item_number(n.topic, n.id) as number, n.scope from made n
    where n.topic = 'backlog' and (n.scope = 'subtree' or exists (select 1 from own_pull o
      where o.repository_id = n.repository_id and o.number = item_number(n.topic, n.id)))
    order by n.repository_id, 2
  loop
    if m.number is not null then perform ask_checks_of_grant(m.repository_id, m.number, m.scope); end if;
  end loop;
  return null;
end $$;
create trigger claims_made after insert on claim referencing new table as made for each statement
  execute function on_claims_made();

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

create function on_grants_made() returns trigger language plpgsql as $$
begin
  insert into event_new (repository_id, type, number, data, at)
  select m.repository_id, 'item.claimed', item_number(m.topic, m.id), jsonb_build_object(
    'owner', m.owner, 'region', m.region, 'scope', m.scope, 'fencingToken', m.fence, 'custodyChanged', m.new_attempt),
    m.granted_at
  from made m where item_number(m.topic, m.id) is not null order by m.fence;
  return null;
end $$;
create trigger claim_grants_made after insert on claim_grant referencing new table as made for each statement
  execute function on_grants_made();

-- A claim ended, or its item was granted to the next.
create function on_grants_changed() returns trigger language plpgsql as $$
declare g record;
begin
  for g in
    select n.repository_id, item_number(n.topic, n.id) as number, n.owner, n.fence, n.ended, o.resourced
    from was o join now_ n using (repository_id, topic, id, fence)
    where o.ended is null and n.ended is not null
    order by n.fence
  loop
    if g.number is not null then
      perform log_event(g.repository_id, 'item.released', g.number,
        jsonb_build_object('owner', g.owner, 'fencingToken', g.fence, 'how', g.ended));
    end if;
    if g.resourced then perform end_resources(g.repository_id, null, g.fence, g.ended); end if;
  end loop;
  return null;
end $$;
create trigger claim_grants_changed after update on claim_grant referencing old table as was new table as now_
  for each statement execute function on_grants_changed();

-- ---------------------------------------------------------------- claims

-- A grant that is still to be written. `marker` null: none is promised.
create type new_grant as (
  repo bigint, topic text, id text, number integer, fence bigint, owner text, actor text, region text, scope text,
  lease_seconds integer, granted_at timestamptz, expires_at timestamptz, new_attempt boolean, previous_fence bigint,
  grants integer, reclaims integer, resourced boolean, consumed text[], marker jsonb, mark_at timestamptz
);
-- `given` null: refused.
create type claim_decision as (answer json, given new_grant);

-- As in 0016: decides on a claim, under the locks that `take_claim` or `lock_at_once` took; what it grants is still to be
-- written, but for resources.
create function decide_claim(
  repo bigint, p_topic text, p_id text, p_owner text, p_actor text, p_region text, p_deployment text,
  p_lease integer, p_scope text, p_takeover boolean, p_wait boolean, p_ticket bigint, p_replica text, p_mark_after integer
) returns claim_decision language plpgsql volatile as $$
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
  reclaims integer := 0;
  given new_grant;
  marker jsonb;
begin
  if p_ticket is not null and not exists (select 1 from claim_waiter w
      where w.repository_id = repo and w.topic = p_topic and w.id = p_id and w.ticket = p_ticket) then
    v.reason := 'timeout';
    return row(refusal_json(v, moment, null), null)::claim_decision;
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
    return row(refusal_json(v, moment, place), null)::claim_decision;
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
      return row(refusal_json(v, moment, null), null)::claim_decision;
    end if;
  end if;

  token := next_fence(coalesce(v.fence, 0));
  expires := moment + make_interval(secs => p_lease);
  if v.fence is not null then
    same_owner := v.owner = p_owner and v.actor = p_actor;
    new_attempt := not (v.live and same_owner and v.reclaims = 0);
    reclaims := case when new_attempt then 0 else v.reclaims + 1 end;
    previous := json_build_object('owner', v.owner, 'fence', v.fence, 'lapsed', v.live);
    if v.live then
      update claim_grant set ended = case when same_owner then 'lapsed' else 'superseded' end, ended_at = moment
      where repository_id = repo and topic = p_topic and id = p_id and fence = v.fence and ended is null;
    end if;
  end if;
  if needs is not null then held := hold_resources(repo, num, needs, token, p_actor, moment, expires); end if;
  if p_ticket is not null then
    delete from claim_waiter w where w.repository_id = repo and w.topic = p_topic and w.id = p_id and w.ticket = p_ticket;
  end if;
  if num is null then
    v.attempts := coalesce(v.grants, 0) + 1;
  elsif new_attempt then
    v.attempts := v.attempts + 1;
    if v.markable then
      marker := jsonb_build_object('number', num, 'owner', p_owner, 'region', p_region, 'fence', token, 'grantedAt', moment,
        'leaseExpiresAt', expires, 'attempt', v.attempts, 'threshold', v.threshold, 'previous', previous);
    end if;
  end if;
  given := row(repo, p_topic, p_id, num, token, p_owner, p_actor, p_region, p_scope, p_lease, moment, expires, new_attempt,
    v.fence, coalesce(v.grants, 0) + 1, reclaims, needs is not null,
    case when needs is null then '{}' else consumed_of(needs) end, marker, moment + make_interval(secs => p_mark_after));
  return row(json_build_object(
    'granted', true, 'fence', token, 'grantedAt', moment, 'leaseExpiresAt', expires, 'newAttempt', new_attempt,
    'attempt', v.attempts, 'tags', v.tags, 'title', v.title, 'url', v.url, 'previous', previous,
    'ownPull', v.review is not null, 'resources', held), given);
end $$;

-- Writes what was granted. The few are looked for one by one, whatever PostgreSQL thinks of the tables' sizes.
create function write_grants(given new_grant[]) returns void language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  first_ones integer;
  later_ones integer;
begin
  if given = '{}' then return; end if;
  insert into claim (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at,
    lease_expires_at, grants, resourced)
  select g.repo, g.topic, g.id, g.fence, true, g.owner, g.actor, g.region, g.scope, g.lease_seconds, g.granted_at,
    g.expires_at, g.grants, g.resourced
  from unnest(given) g where g.previous_fence is null;
  get diagnostics first_ones = row_count;
  if first_ones < cardinality(given) then
    update claim c set fence = g.fence, live = true, owner = g.owner, actor = g.actor, region = g.region, scope = g.scope,
      lease_seconds = g.lease_seconds, granted_at = g.granted_at, lease_expires_at = g.expires_at, released_at = null,
      grants = g.grants, reclaims = g.reclaims, resourced = g.resourced
    from unnest(given) g
    where c.repository_id = g.repo and c.topic = g.topic and c.id = g.id and c.fence = g.previous_fence and c.fence < g.fence;
    get diagnostics later_ones = row_count;
    if first_ones + later_ones < cardinality(given) then raise exception 'a grant was not above the mark'; end if;
  end if;
  insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt,
    previous_fence, resourced, consumed)
  select g.repo, g.topic, g.id, g.fence, g.owner, g.actor, g.region, g.scope, g.granted_at, g.new_attempt,
    g.previous_fence, g.resourced, g.consumed
  from unnest(given) g;
  insert into outbox (repository_id, issue_number, kind, promise, payload, created_at, next_try_at)
  select g.repo, g.number, 'claim_marker', 'claim:' || g.fence, g.marker, g.granted_at, g.mark_at
  from unnest(given) g where g.marker is not null;
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
  d claim_decision;
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
  d := decide_claim(repo, p_topic, p_id, p_owner, p_actor, p_region, p_deployment, p_lease, p_scope, p_takeover, p_wait,
    p_ticket, p_replica, p_mark_after);
  if (d.given).fence is not null then perform write_grants(array[d.given]); end if;
  return d.answer;
end $$;

-- A claim's end that is still to be written. `outcome` null: nothing is told on the issue.
create type claim_end as (repo bigint, topic text, id text, number integer, fence bigint, at timestamptz, outcome jsonb);
-- `ended` null: it does not end.
create type release_decision as (answer text, ended claim_end);

-- As in 0019: decides on a release, under the record's lock; attempts are counted only where there may be enough of them.
create function decide_release(
  repo bigint, p_topic text, p_id text, p_fence bigint, p_actor text, p_note text, p_parks boolean
) returns release_decision language plpgsql volatile as $$
declare
  num integer := item_number(p_topic, p_id);
  moment timestamptz := db_now();
  c record;
  outcome jsonb;
begin
  select k.fence, k.live, k.actor, k.owner, k.grants, n.marked, n.attempts_after, n.park_by is not null as park_asked,
    n.number is not null and n.state is null and n.review is distinct from 'in_review' as poisoned,
    n.number is not null and n.state is null and r.installation_id is not null as told,
    coalesce(n.threshold, (r.settings ->> 'poisonThreshold')::integer, 3) as threshold
  into c
  from claim k left join item n on n.repository_id = repo and n.number = num left join repository r on r.id = repo
  where k.repository_id = repo and k.topic = p_topic and k.id = p_id;
  if not found then
    return row(case when exists (select 1 from record where repository_id = repo and topic = p_topic and id = p_id
      and (expires_at is null or expires_at > moment)) then 'unclaimed' else 'missing' end, null)::release_decision;
  end if;
  if c.fence <> p_fence then return row('stale', null)::release_decision; end if;
  if not c.live then return row('unclaimed', null)::release_decision; end if;
  if c.actor <> p_actor then return row('not_holder', null)::release_decision; end if;
  -- Without a marker there are no more attempts than grants.
  if c.poisoned and not c.park_asked then
    c.poisoned := (c.marked or c.grants >= c.threshold) and attempts_of(repo, num, c.attempts_after) >= c.threshold;
  end if;
  if c.poisoned and not p_parks then return row('poisoned', null)::release_decision; end if;
  if c.told and not c.poisoned then
    outcome := jsonb_build_object('number', num, 'owner', c.owner, 'fence', p_fence, 'note', p_note);
  end if;
  return row(case when c.poisoned then 'poisoned' else 'release' end,
    row(repo, p_topic, p_id, num, p_fence, moment, outcome)::claim_end);
end $$;

-- Writes that claims were released, and promises what is told of it.
create function write_releases(ended_ claim_end[]) returns void language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  if ended_ = '{}' then return; end if;
  update claim c set live = false, released_at = e.at
  from unnest(ended_) e
  where c.repository_id = e.repo and c.topic = e.topic and c.id = e.id and c.fence = e.fence and c.live;
  update claim_grant g set ended = 'released', ended_at = e.at
  from unnest(ended_) e
  where g.repository_id = e.repo and g.topic = e.topic and g.id = e.id and g.fence = e.fence and g.ended is null;
  insert into outbox (repository_id, issue_number, kind, promise, payload, created_at, next_try_at)
  select e.repo, e.number, 'release_outcome', 'outcome:' || e.number || ':' || e.fence || ':released', e.outcome, e.at, e.at
  from unnest(ended_) e where e.outcome is not null
  on conflict (repository_id, promise) where state = 'pending' do nothing;
end $$;

create or replace function release_claim(
  repo bigint, p_topic text, p_id text, p_fence bigint, p_actor text, p_note text, p_parks boolean
) returns text language plpgsql volatile as $$
declare d release_decision;
begin
  if repo < 0 and not hold_local_repository(repo) then return 'moved'; end if;
  perform pg_advisory_xact_lock(hashtextextended(repo || '/' || p_topic || '/' || p_id, 7203));
  d := decide_release(repo, p_topic, p_id, p_fence, p_actor, p_note, p_parks);
  if (d.ended).fence is not null then perform write_releases(array[d.ended]); end if;
  return d.answer;
end $$;

-- ---------------------------------------------------------------- many at once

-- Answers many questions in one transaction, each by the name of its function, with its parameters. Null: it is to be asked
-- alone, because a lock is not to be had at once (`lock_at_once` in 0019). Nor is a row's lock waited for: what fails for
-- that is undone, and everybody is asked alone.
create function answer_at_once(what text[], p jsonb[]) returns json[] language plpgsql volatile
set lock_timeout = '100ms' as $$
declare
  answers json[] := '{}';
  given new_grant[] := '{}';
  ended_ claim_end[] := '{}';
  -- Records that these are about.
  changed text[] := '{}';
  q jsonb;
  key text;
  repo bigint;
  p_topic text;
  p_id text;
  answer json;
  c claim_decision;
  r release_decision;
begin
  for n in 1 .. cardinality(what) loop
    q := p[n];
    repo := q ->> 0;
    p_topic := q ->> 1;
    p_id := q ->> 2;
    key := repo || '/' || p_topic || '/' || p_id;
    -- Whoever comes second sees what the first one did.
    if key = any (changed) then
      perform write_grants(given);
      perform write_releases(ended_);
      given := '{}';
      ended_ := '{}';
      changed := '{}';
    end if;
    answer := null;
    if lock_at_once(repo, p_topic, p_id) then
      case what[n]
        when 'take_claim' then
          c := decide_claim(repo, p_topic, p_id, q ->> 3, q ->> 4, q ->> 5, q ->> 6, (q ->> 7)::integer, q ->> 8,
            (q ->> 9)::boolean, (q ->> 10)::boolean, (q ->> 11)::bigint, q ->> 12, (q ->> 13)::integer);
          answer := json_build_object('claim', c.answer, 'anchored', (c.given).fence is not null
            and exists (select 1 from anchor a where a.repository_id = repo and a.topic = p_topic and a.id = p_id));
          if (c.given).fence is not null then
            given := array_append(given, c.given);
            changed := array_append(changed, key);
          end if;
        when 'release_claim' then
          r := decide_release(repo, p_topic, p_id, (q ->> 3)::bigint, q ->> 4, q ->> 5, (q ->> 6)::boolean);
          answer := to_json(r.answer);
          if (r.ended).fence is not null then
            ended_ := array_append(ended_, r.ended);
            changed := array_append(changed, key);
          end if;
        when 'renew_claim' then
          answer := renew_claim(repo, p_topic, p_id, (q ->> 3)::bigint, q ->> 4, (q ->> 5)::integer);
        when 'write_scalars' then
          answer := write_record(repo, p_topic, p_id, (q ->> 3)::bigint, q ->> 4, q ->> 5, q -> 6, '{}', '{}',
            (q ->> 7)::boolean);
      end case;
    end if;
    answers := array_append(answers, answer);
  end loop;
  perform write_grants(given);
  perform write_releases(ended_);
  return answers;
end $$;
