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
  -- When it is to be read again; null: not before something happens. Put off while somebody reads it.
  add column read_due_at     timestamptz,
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
