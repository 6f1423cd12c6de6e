-- Claims at full speed. Each of claim, renew and release is one call, which judges once. What was a function in SQL
-- on the hot path is now a statement in it: PostgreSQL plans a function in SQL anew at each call, a statement of a
-- plpgsql function once per connection.

-- ---------------------------------------------------------------- indexes

-- Nothing reads it, and it made every renewal write the claim's row into every index of the table.
drop index claim_live;
-- Renewals and releases change a claim in place, on the page where it is.
alter table claim set (fillfactor = 70);
alter table claim_grant set (fillfactor = 85);
-- "Is an integration item of my grouping being worked?", asked at each claim below an epic.
create index item_integrating on item (repository_id, integrates) where integrates is not null;

-- What is due next, by repository. It takes the place of the pending rows by id.
create index outbox_due on outbox (repository_id, next_try_at, id) where state = 'pending';
drop index outbox_pending;

-- ---------------------------------------------------------------- what every request asks of its repository

-- Processes remember for a moment which repository has a name; they are told when that, or what they know of it, changes.
create function on_repository_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('repository_changed', new.id::text);
  return null;
end $$;
create trigger repository_change_told after update on repository for each row
  when ((old.owner, old.name, old.current_name, old.installation_id, old.installed, old.archived, old.default_branch,
         old.settings)
    is distinct from (new.owner, new.name, new.current_name, new.installation_id, new.installed, new.archived,
         new.default_branch, new.settings)) execute function on_repository_change();

-- ---------------------------------------------------------------- facts kept on the item's row

alter table item
  -- Whether a claim marker was ever counted on it: most claims need not look for one.
  add column marked boolean not null default false,
  -- What a grant answers of the item: its record's tags, its issue's title and address.
  add column tags  text[],
  add column title text,
  add column url   text;

-- What the other tables know of an item that is just made.
create function on_item_made() returns trigger language plpgsql as $$
begin
  new.marked := exists (
    select 1 from claim_marker m where m.repository_id = new.repository_id and m.issue_number = new.number);
  select r.tags into new.tags from record r
  where r.repository_id = new.repository_id and r.topic = 'backlog' and r.id = 'issue-' || new.number;
  select s.title, s.html_url into new.title, new.url from issue s
  where s.repository_id = new.repository_id and s.number = new.number;
  return new;
end $$;
create trigger item_made before insert on item for each row execute function on_item_made();

create function on_claim_marker() returns trigger language plpgsql as $$
begin
  update item set marked = true where repository_id = new.repository_id and number = new.issue_number and not marked;
  return null;
end $$;
create trigger claim_marker_kept after insert on claim_marker for each row execute function on_claim_marker();

create function on_item_record() returns trigger language plpgsql as $$
begin
  update item set tags = case when tg_op = 'DELETE' then null else new.tags end
  where repository_id = coalesce(new.repository_id, old.repository_id)
    and number = item_number('backlog', coalesce(new.id, old.id));
  return null;
end $$;
create trigger item_tags_kept after update of tags on record for each row
  when (new.topic = 'backlog' and old.tags is distinct from new.tags) execute function on_item_record();
create trigger item_tags_made after insert on record for each row
  when (new.topic = 'backlog') execute function on_item_record();
create trigger item_tags_gone after delete on record for each row
  when (old.topic = 'backlog') execute function on_item_record();

create function on_issue_text() returns trigger language plpgsql as $$
begin
  update item set title = new.title, url = new.html_url
  where repository_id = new.repository_id and number = new.number;
  return null;
end $$;
create trigger item_text_kept after update of title, html_url on issue for each row
  when (old.title is distinct from new.title or old.html_url is distinct from new.html_url) execute function on_issue_text();
create trigger item_text_made after insert on issue for each row execute function on_issue_text();

update item i set
  marked = exists (select 1 from claim_marker m where m.repository_id = i.repository_id and m.issue_number = i.number),
  tags = (select r.tags from record r
    where r.repository_id = i.repository_id and r.topic = 'backlog' and r.id = 'issue-' || i.number),
  title = (select s.title from issue s where s.repository_id = i.repository_id and s.number = i.number),
  url = (select s.html_url from issue s where s.repository_id = i.repository_id and s.number = i.number);

-- Attempts since the last unpark: grants that started one and trusted markers, once per fence.
create or replace function attempts_of(repo bigint, num integer, after bigint) returns integer
language plpgsql stable as $$
begin
  return (select count(*) from claim_grant g where g.repository_id = repo and g.topic = 'backlog'
      and g.id = 'issue-' || num and g.new_attempt and g.fence > after)
    + (select count(*) from claim_marker m where m.repository_id = repo and m.issue_number = num and m.fence > after
      and not exists (select 1 from claim_grant g where g.repository_id = repo and g.topic = 'backlog'
        and g.id = 'issue-' || num and g.fence = m.fence and g.new_attempt));
end $$;

-- ---------------------------------------------------------------- the verdict

drop function take_claim(bigint, text, text, text, text, text, text, integer, text, boolean, boolean, bigint, text, integer);
drop function refusal_json(claim_verdict, timestamptz);
drop function judge_record(bigint, text, text, text, text, boolean, timestamptz);
drop function judge_item(bigint, integer, text, text, text, text, text, boolean, boolean, timestamptz);

-- Beside the verdict, what a grant needs of the rows that were read for it.
alter type claim_verdict
  -- The claim before, all null when there was none.
  add attribute fence bigint, add attribute live boolean, add attribute owner text, add attribute actor text,
  add attribute reclaims integer, add attribute grants integer,
  -- Of items: attempts so far, the threshold in force, whether a marker can be promised.
  add attribute attempts integer, add attribute threshold integer, add attribute markable boolean,
  add attribute tags text[], add attribute title text, add attribute url text;

-- The verdict on claiming an item; null reason: it is free. It repeats domain/why-not.ts, and a property test
-- shows that both always agree. `ahead` says whether others wait in line before the caller; null: the line is
-- looked at, and those before `p_ticket` (null: all) are ahead.
create function judge_item(
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
  v claim_verdict;
begin
  select i.enrolled, i.admitted, i.state, i.issue_open, i.home_region, i.open_blockers, i.parts, i.ancestors,
    i.integrates, i.threshold, i.active_at, i.attempts_after, i.marked, i.tags, i.title, i.url,
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
  if f.parts > 0 and p_scope <> 'subtree' then v.reason := 'grouping'; return v; end if;
  if not f.admitted then v.reason := 'not_admitted'; return v; end if;
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
  return row(null, null, null, f.fence, f.live, f.owner, f.actor, f.reclaims, f.grants,
    v.attempts, v.threshold, r.installation_id is not null, f.tags, f.title, f.url)::claim_verdict;
end $$;

-- The same for a record that is no item: it must exist and be free.
create function judge_record(
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
    null, null, false, null, f.title, null)::claim_verdict;
end $$;

create function refusal_json(verdict claim_verdict, moment timestamptz, ticket bigint) returns json
language plpgsql immutable as $$
begin
  return json_build_object('granted', false, 'reason', verdict.reason,
    'retryAfterMs', case when verdict.retry_at is not null
      then greatest(1, ceil(extract(epoch from verdict.retry_at - moment) * 1000))::bigint end,
    'blockers', coalesce(verdict.blockers, '{}'), 'ticket', ticket);
end $$;

-- ---------------------------------------------------------------- locks

-- A repository that lives only here moves to GitHub's id when the App comes: not while it is written to. False: it
-- has moved.
create function hold_local_repository(repo bigint) returns boolean language plpgsql volatile as $$
begin
  perform 1 from repository where id = repo and current_name for share;
  return found;
end $$;

-- ---------------------------------------------------------------- claim

-- Takes a claim, or says why not, in one call. It is judged once, under the locks: ancestors shared, the root first, then
-- the record. An integration item and a subtree claim take their epic's lock whole, so that neither overlooks the other.
-- A refusal writes nothing and takes no token; where others decide at the moment, it does not wait for them either.
-- `p_wait`: a contended caller is put into the line. `p_ticket`: the caller is in the line already; one whose place is
-- gone (it timed out, or its process was thought dead) is answered `timeout`, and granted nothing.
create function take_claim(
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

  token := next_fence(coalesce(v.fence, 0));
  expires := moment + make_interval(secs => p_lease);
  if v.fence is null then
    insert into claim (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at, lease_expires_at)
    values (repo, p_topic, p_id, token, true, p_owner, p_actor, p_region, p_scope, p_lease, moment, expires);
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
      reclaims = case when new_attempt then 0 else reclaims + 1 end
    where repository_id = repo and topic = p_topic and id = p_id and fence = v.fence and fence < token;
    if not found then raise exception 'a grant was not above the mark'; end if;
  end if;
  insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt, previous_fence)
  values (repo, p_topic, p_id, token, p_owner, p_actor, p_region, p_scope, moment, new_attempt, v.fence);
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
    'attempt', v.attempts, 'tags', v.tags, 'title', v.title, 'url', v.url, 'previous', previous);
end $$;

-- ---------------------------------------------------------------- renew and release

-- Moves the lease's end, under the record's lock. It repeats decideRenew (domain/lease.ts), and a property test shows
-- that both always agree.
create function renew_claim(
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
  select fence, live, actor, lease_expires_at into c from claim
  where repository_id = repo and topic = p_topic and id = p_id;
  if not found and not exists (select 1 from record where repository_id = repo and topic = p_topic and id = p_id
      and (expires_at is null or expires_at > moment)) then
    return json_build_object('verdict', 'missing');
  end if;
  if c.fence is null or c.fence <> p_fence or not c.live then return json_build_object('verdict', 'superseded'); end if;
  if c.actor <> p_actor then return json_build_object('verdict', 'not_holder'); end if;
  if c.lease_expires_at <= moment then return json_build_object('verdict', 'superseded'); end if;
  expires := moment + make_interval(secs => p_lease);
  update claim set lease_expires_at = expires, lease_seconds = p_lease
  where repository_id = repo and topic = p_topic and id = p_id and fence = p_fence and actor = p_actor and live;
  return json_build_object('verdict', 'renew', 'leaseExpiresAt', expires, 'previousLeaseExpiresAt', c.lease_expires_at);
end $$;

-- Ends the claim under its token, and promises the outcome comment. It repeats decideRelease (domain/lease.ts), and a
-- property test shows that both always agree. `poisoned`: this was the last attempt. Releasing and parking must be one
-- transaction, and parking is the services': unless the caller says that it does (`p_parks`), nothing is changed then.
create function release_claim(
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
      n.state is null and attempts_of(repo, num, n.attempts_after)
        >= coalesce(n.threshold, (r.settings ->> 'poisonThreshold')::integer, 3) as poisoned
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

-- Wakes the line of a record, and those of the epics above it, when its claim ends or its lease gets shorter.
create or replace function on_claim_end() returns trigger language plpgsql as $$
declare
  num integer := item_number(new.topic, new.id);
  lines text[] := array[new.id];
  line text;
begin
  -- Almost always nobody waits in the whole topic.
  if not exists (select 1 from claim_waiter where repository_id = new.repository_id and topic = new.topic) then
    return null;
  end if;
  if num is not null then
    lines := lines || coalesce((select array_agg('issue-' || x) from item i, unnest(i.ancestors) x
      where i.repository_id = new.repository_id and i.number = num), '{}');
  end if;
  for line in
    select distinct w.id from claim_waiter w
    where w.repository_id = new.repository_id and w.topic = new.topic and w.id = any (lines)
  loop
    perform pg_notify('claim_line', new.repository_id || '/' || new.topic || '/' || line);
  end loop;
  return null;
end $$;

-- Takes a record's lock and answers its claim, if it was ever claimed: what the fence asks, in one call. The claim is
-- read in a statement that begins when the lock is had, so that it is the latest.
create function lock_claim(repo bigint, p_topic text, p_id text) returns setof claim language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(repo || '/' || p_topic || '/' || p_id, 7203));
  return query select * from claim where repository_id = repo and topic = p_topic and id = p_id;
end $$;
