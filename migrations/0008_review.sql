-- Review: what an item's own pull requests mean for it (protocol 6), and the claim check on them (protocol 8).

alter table pull_request
  -- Logins, and teams as `team:<slug>`, whose review was asked for and has not come.
  add column review_asked    text[] not null default '{}',
  -- When this head was first seen here.
  add column head_at         timestamptz,
  -- What GitHub said when the pull request was read last, and of which head and base. It tells nobody when a push
  -- to the base makes a conflict, and works it out only when it is asked.
  add column read_at         timestamptz,
  add column read_head       text,
  add column read_base       text,
  add column mergeable       boolean,
  add column mergeable_state text,
  -- Reads in a row that brought no answer.
  add column reads           integer not null default 0,
  -- When something happened that may have changed the answer.
  add column moved_at        timestamptz,
  -- When it is to be read again; null: not before something happens. And until when somebody is at it.
  add column read_due_at     timestamptz,
  add column read_leased_until timestamptz,
  -- The claim check as it stands on GitHub: for which head, and what it says.
  add column check_run_id    bigint,
  add column check_head      text,
  add column check_conclusion text,
  add column check_said      text;
create index pull_request_to_read on pull_request (read_due_at) where read_due_at is not null;
create index pull_request_by_base on pull_request (repository_id, base_ref) where state = 'open';
create index pull_request_by_head_sha on pull_request (repository_id, head_sha) where state = 'open';

-- Whose word counts: bots and those with rights here, not passers-by.
alter table pull_request_review add column reviewer_type text, add column reviewer_association text;

-- How many runs it holds: an empty suite stays queued for ever, one with runs waits for them.
alter table check_suite add column runs integer;

-- Whether who pushed this head is a human with write access; null: not asked yet.
alter table branch add column pusher_type text, add column by_human boolean;

alter table item
  -- What its own open pull requests mean for it (domain/review.ts); null: none is open.
  add column review        text check (review in ('in_review', 'resumable', 'again')),
  -- The pull request that decides it, and what that one waits for.
  add column review_pull   integer,
  add column review_waits  text;

-- The token that the place of the work was recorded under. A note written later under another token says nothing
-- about the commit.
alter table resume_block add column location_fence bigint;
update resume_block set location_fence = fence where branch is not null or pull_number is not null or sha is not null;

-- Counts how often a pending promise was made again. Whoever keeps it meanwhile must not settle the newer one.
alter table outbox add column revision integer not null default 0;

-- Which open pull requests are an item's own (domain/own-pull.ts).
-- Items with work in a pull request: few, and asked for by every claim-next.
create index item_with_pull on item (repository_id, number) where review is not null;

create table own_pull (
  repository_id   bigint not null,
  number          integer not null,
  pull_number     integer not null,
  primary key (repository_id, number, pull_number)
);
create index own_pull_by_pull on own_pull (repository_id, pull_number);

-- ---------------------------------------------------------------- the claim check

-- Promises that the claim check on a pull request will be what it should be. What it says is decided when it is
-- written, from the facts as they are then; a promise that is being kept now is counted up, and kept once more.
create function ask_claim_check(repo bigint, pull integer) returns void language sql volatile as $$
  insert into outbox (repository_id, issue_number, kind, promise, payload)
  select repo, pull, 'check_run', 'check:' || pull, jsonb_build_object('pull', pull)
  from pull_request p join repository r on r.id = p.repository_id
  where p.repository_id = repo and p.number = pull and p.state = 'open' and r.installation_id is not null
    and exists (select 1 from own_pull o where o.repository_id = repo and o.pull_number = pull)
  on conflict (repository_id, promise) where state = 'pending' do update set revision = outbox.revision + 1
$$;

create function ask_claim_checks_of(repo bigint, num integer) returns void language plpgsql volatile as $$
declare pull integer;
begin
  for pull in select o.pull_number from own_pull o where o.repository_id = repo and o.number = num order by 1 loop
    perform ask_claim_check(repo, pull);
  end loop;
end $$;

create function on_own_pull() returns trigger language plpgsql as $$
begin
  perform ask_claim_check(new.repository_id, new.pull_number);
  return null;
end $$;
create trigger own_pull_checked after insert on own_pull for each row execute function on_own_pull();

create function on_pull_request() returns trigger language plpgsql as $$
begin
  perform ask_claim_check(new.repository_id, new.number);
  return null;
end $$;
create trigger pull_request_checked after update on pull_request for each row
  when (new.state = 'open' and (old.state <> 'open' or old.head_sha is distinct from new.head_sha
        or old.base_ref is distinct from new.base_ref))
  execute function on_pull_request();

-- A new grant supersedes what was recorded before it; a subtree claim's, also below.
create function on_claim_grant() returns trigger language plpgsql as $$
declare
  num integer := item_number(new.topic, new.id);
  part integer;
begin
  if num is null then return null; end if;
  perform ask_claim_checks_of(new.repository_id, num);
  if new.scope = 'subtree' then
    for part in select d from descendants_of(new.repository_id, num) d order by 1 loop
      perform ask_claim_checks_of(new.repository_id, part);
    end loop;
  end if;
  return null;
end $$;
create trigger claim_insert_checked after insert on claim for each row
  when (new.topic = 'backlog') execute function on_claim_grant();
create trigger claim_grant_checked after update of fence on claim for each row
  when (new.topic = 'backlog' and old.fence <> new.fence) execute function on_claim_grant();

create function on_item_for_check() returns trigger language plpgsql as $$
begin
  perform ask_claim_checks_of(new.repository_id, new.number);
  return null;
end $$;
create trigger item_checked after update of state, admitted, enrolled on item for each row
  when (old.state is distinct from new.state or old.admitted <> new.admitted or old.enrolled <> new.enrolled)
  execute function on_item_for_check();

create trigger resume_block_insert_checked after insert on resume_block for each row
  execute function on_item_for_check();
create trigger resume_block_checked after update on resume_block for each row
  when (old.sha is distinct from new.sha or old.location_fence is distinct from new.location_fence)
  execute function on_item_for_check();

create function on_branch_for_check() returns trigger language plpgsql as $$
declare pull integer;
begin
  for pull in
    select p.number from pull_request p
    where p.repository_id = new.repository_id and p.state = 'open' and p.head_ref = new.name
      and p.head_repository_id = new.repository_id order by 1
  loop
    perform ask_claim_check(new.repository_id, pull);
  end loop;
  return null;
end $$;
create trigger branch_insert_checked after insert on branch for each row execute function on_branch_for_check();
create trigger branch_checked after update on branch for each row
  when (old.head_sha is distinct from new.head_sha or old.pusher_id is distinct from new.pusher_id)
  execute function on_branch_for_check();

-- ---------------------------------------------------------------- claims

-- What a grant answers of it: somebody's pull request is there to be gone on with.
alter type claim_verdict add attribute review text;

-- Whether an item with parts is a container (domain/grouping.ts says the same of the facts): it has a branch of its
-- own, or an item that integrates it, or a part that is not at its end. Else it is an ordinary item (protocol 7).
create function is_grouping(repo bigint, num integer, tags text[]) returns boolean language plpgsql stable as $$
begin
  return (select count(*) = 1 and bool_and(
        substr(t, 12) ~ '^[a-z][a-z0-9-]*/epic/(?!.*\.\.)(?!.*-issue-[0-9]+$)[A-Za-z0-9][A-Za-z0-9._-]*$')
      from unnest(tags) t where t like 'baseBranch:%')
    or exists (select 1 from record_link l
      where l.target_repository_id = repo and l.target_number = num and l.relation = 'integrates')
    or exists (select 1 from record_link l
      join item p on p.repository_id = l.repository_id and p.number = l.number and p.enrolled
      where l.target_repository_id = repo and l.target_number = num and l.relation = 'partOf'
        and not (l.repository_id = repo and l.number = num) and (p.state is null or p.state = 'parked'));
end $$;

-- Whether an epic's fan-out, its integration item aside, is incomplete or being worked. A container among it is
-- judged by its parts.
create or replace function fan_out_open(repo bigint, epic integer, integration integer, moment timestamptz)
returns boolean language sql stable as $$
  select exists (select 1 from descendants_of(repo, epic) d join item p on p.repository_id = repo and p.number = d
    where p.number <> integration and (p.parts = 0 or not is_grouping(repo, p.number, p.tags))
      and (p.state is null or p.state = 'parked' or held(repo, p.number, moment) is not null))
$$;

-- As in 0004, and besides: an orchestrator's hold, what is in review, and what is no container any more.
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
  v claim_verdict;
begin
  select i.enrolled, i.admitted, i.state, i.issue_open, i.home_region, i.open_blockers, i.parts, i.ancestors,
    i.integrates, i.threshold, i.active_at, i.attempts_after, i.marked, i.tags, i.title, i.url, i.hold_at, i.review,
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
  return row(null, null, null, f.fence, f.live, f.owner, f.actor, f.reclaims, f.grants,
    v.attempts, v.threshold, r.installation_id is not null, f.tags, f.title, f.url, f.review)::claim_verdict;
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
    null, null, false, null, f.title, null, null)::claim_verdict;
end $$;

-- As in 0004; the grant also says whether an own pull request of the item is open.
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
    'attempt', v.attempts, 'tags', v.tags, 'title', v.title, 'url', v.url, 'previous', previous,
    'ownPull', v.review is not null);
end $$;

-- As in 0004; but what is in review is not parked when its last attempt ends.
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
      n.state is null and n.review is distinct from 'in_review' and attempts_of(repo, num, n.attempts_after)
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
