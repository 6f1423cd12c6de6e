-- What is ready, fast: what can be told of an item by itself is kept on its row, so that the head of the ready set is
-- the head of an index, however many items before it are blocked; and defects are kept, with the time they were found.

-- ---------------------------------------------------------------- facts kept on the item's row

-- Whether an item's tags are whole (domain/defects.ts says the same of them).
create function tags_sound(tags text[]) returns boolean language sql immutable parallel safe as $$
  select coalesce(
    bool_or(t = 'backlog')
    and count(*) filter (where t like 'priority:%') = 1
    and count(*) filter (where t ~ '^priority:P[0-3]$') = 1
    and count(*) filter (where t like 'phase:%') = 1
    and count(*) filter (where t in ('phase:research', 'phase:implementation', 'phase:integration')) = 1
    and count(*) filter (where t like 'homeRegion:%') = 1
    and count(*) filter (where t like 'baseBranch:%') = 1
    and count(*) filter (where t like 'state:%') <= 1
    and count(*) filter (where t like 'state:%' and t not in ('state:complete', 'state:parked')) = 0, false)
  from unnest(tags) t
$$;

alter table item
  -- Its parts are worked on, and not it (`is_grouping`).
  add column grouping boolean not null default false,
  -- A defect that takes it out of the ready set and that its own row does not show.
  add column flawed   boolean not null default false;
update item set grouping = parts > 0 and is_grouping(repository_id, number, tags) where parts > 0;
alter table item
  -- Nothing that can be told of the item by itself speaks against claiming it. What others do decides the rest.
  add column offered boolean not null generated always as (
    enrolled and state is null and admitted and issue_open and open_blockers = 0 and hold_at is null
    and not grouping and not flawed and review is distinct from 'in_review' and tags_sound(tags)) stored,
  -- What can be merged now comes first, then the priority (domain/ready-set.ts, `byUrgency`).
  add column urgency smallint not null generated always as (
    (case when review = 'resumable' then priority - 10 else priority end)::smallint) stored;

create index item_offered on item (repository_id, urgency, created_at, number) include (home_region) where offered;
create index item_waiting on item (repository_id, urgency, created_at, number)
  where enrolled and state is null and (admitted or not issue_open) and not offered;
create index item_unadmitted on item (repository_id, urgency, created_at, number)
  where enrolled and state is null and not admitted and issue_open;
create index item_parked on item (repository_id, number) where enrolled and state = 'parked';
create index item_integrating_offered on item (repository_id, number) where offered and integrates is not null;
-- Claims that are in flight, or lapsed and not taken since.
create index claim_live on claim (repository_id, id) where live and topic = 'backlog';
-- Only who was claimed more than once can be poisoned, where the threshold is not one.
create index claim_again on claim (repository_id, id) where topic = 'backlog' and grants > 1;
create index record_link_anchor on record_link (repository_id, target text_pattern_ops) where relation = 'anchoredTo';
create index record_link_glob on record_link (repository_id) where relation = 'anchoredTo' and target ~ '[*?[{]';

create function keep_grouping(repo bigint, num integer) returns void language plpgsql volatile as $$
begin
  update item i set grouping = i.parts > 0 and is_grouping(repo, num, i.tags)
  where i.repository_id = repo and i.number = num
    and i.grouping is distinct from (i.parts > 0 and is_grouping(repo, num, i.tags));
end $$;

-- A part that ends may end its parent's being a container; one that comes back begins it again.
create function on_part() returns trigger language plpgsql as $$
declare parent record;
begin
  for parent in
    select l.target_repository_id as repo, l.target_number as num from record_link l
    where l.repository_id = new.repository_id and l.number = new.number and l.relation = 'partOf'
      and l.target_number is not null order by 1, 2
  loop
    perform keep_grouping(parent.repo, parent.num);
  end loop;
  return null;
end $$;
create trigger item_part_kept after update of state, enrolled on item for each row
  when (old.state is distinct from new.state or old.enrolled is distinct from new.enrolled) execute function on_part();

-- `parts` and `tags` are kept by others, after links and records changed.
create function on_item_shape() returns trigger language plpgsql as $$
begin
  perform keep_grouping(new.repository_id, new.number);
  return null;
end $$;
create trigger item_shape_kept after update of parts, tags on item for each row
  when (old.parts is distinct from new.parts or old.tags is distinct from new.tags) execute function on_item_shape();
create trigger item_shape_made after insert on item for each row execute function on_item_shape();

create function on_integrates() returns trigger language plpgsql as $$
declare edge record := coalesce(new, old);
begin
  if edge.target_number is not null then perform keep_grouping(edge.target_repository_id, edge.target_number); end if;
  return null;
end $$;
create trigger record_link_integrates_made after insert on record_link for each row
  when (new.relation = 'integrates') execute function on_integrates();
create trigger record_link_integrates_gone after delete on record_link for each row
  when (old.relation = 'integrates') execute function on_integrates();

-- ---------------------------------------------------------------- defects

-- Every defect there is, with the time it was found. `services/check-items.ts` keeps it.
create table defect (
  repository_id   bigint not null,
  number          integer not null,
  code            text not null,
  value           text not null,
  detail          text not null,
  since           timestamptz not null default db_now(),
  primary key (repository_id, number, code, value)
);

-- Items whose facts changed, and whose defects are to be looked at again. Asked for twice it is two rows: one row would
-- make who asks wait for whoever asked before, and two that complete at once would lock each other out.
create table item_check (
  repository_id   bigint not null,
  number          integer not null,
  id              bigint generated always as identity,
  asked_at        timestamptz not null default db_now(),
  primary key (repository_id, number, id)
);
create index item_check_by_age on item_check (asked_at);

create function ask_item_check(repo bigint, num integer) returns void language plpgsql volatile as $$
begin
  insert into item_check (repository_id, number)
  select i.repository_id, i.number from item i where i.repository_id = repo and i.number = num
    -- Once in a transaction is enough. What others asked for may be taken away just now.
    and not exists (select 1 from item_check c where c.repository_id = repo and c.number = num
      and c.xmin = pg_current_xact_id()::xid);
  if found then perform pg_notify('item_check', ''); end if;
end $$;

create function on_item_facts() returns trigger language plpgsql as $$
begin
  perform ask_item_check(new.repository_id, new.number);
  return null;
end $$;
create trigger item_facts_made after insert on item for each row execute function on_item_facts();
create trigger item_facts_changed after update on item for each row
  when ((old.enrolled, old.admitted, old.state, old.issue_open, old.open_blockers, old.parts, old.ancestors, old.integrates,
         old.tags, old.grouping, old.attempts_after, old.review)
    is distinct from (new.enrolled, new.admitted, new.state, new.issue_open, new.open_blockers, new.parts, new.ancestors,
         new.integrates, new.tags, new.grouping, new.attempts_after, new.review)) execute function on_item_facts();

-- What becomes of an item is news to those that wait for it, and to those above and below it.
create function ask_checks_around(repo bigint, num integer) returns void language plpgsql volatile as $$
declare near record;
begin
  for near in
    select l.repository_id as repo, l.number as num from record_link l
    where l.target_repository_id = repo and l.target_number = num and l.number is not null
      and l.relation in ('blockedBy', 'partOf', 'integrates')
    union
    select l.target_repository_id, l.target_number from record_link l
    where l.repository_id = repo and l.number = num and l.target_number is not null
      and l.relation in ('partOf', 'integrates')
    order by 1, 2
  loop
    perform ask_item_check(near.repo, near.num);
  end loop;
end $$;

create function on_item_news() returns trigger language plpgsql as $$
begin
  perform ask_checks_around(new.repository_id, new.number);
  return null;
end $$;
create trigger item_news after update of state, enrolled, tags, grouping on item for each row
  when (old.state is distinct from new.state or old.enrolled is distinct from new.enrolled
        or old.tags is distinct from new.tags or old.grouping is distinct from new.grouping)
  execute function on_item_news();
create trigger issue_news after insert or update of state, state_reason, gone on issue for each row
  execute function on_item_news();

create function on_link_facts() returns trigger language plpgsql as $$
declare edge record := coalesce(new, old);
begin
  if edge.number is not null then perform ask_item_check(edge.repository_id, edge.number); end if;
  if edge.target_number is not null then perform ask_item_check(edge.target_repository_id, edge.target_number); end if;
  return null;
end $$;
create trigger record_link_facts after insert or delete on record_link for each row execute function on_link_facts();

create function on_incident() returns trigger language plpgsql as $$
declare fact record := coalesce(new, old);
begin
  perform ask_item_check(fact.repository_id, fact.number);
  return null;
end $$;
create trigger incident_facts after insert or update or delete on incident for each row execute function on_incident();

create function on_marker_facts() returns trigger language plpgsql as $$
begin
  perform ask_item_check(new.repository_id, new.issue_number);
  return null;
end $$;
create trigger claim_marker_facts after insert on claim_marker for each row execute function on_marker_facts();

-- An open pull request that is no item's. Pull requests share the number space of issues.
create function keep_foreign_pull(repo bigint, pull integer) returns void language plpgsql volatile as $$
begin
  if exists (select 1 from pull_request p where p.repository_id = repo and p.number = pull and p.state = 'open')
     and not exists (select 1 from own_pull o where o.repository_id = repo and o.pull_number = pull) then
    insert into defect (repository_id, number, code, value, detail) values (repo, pull, 'foreign_pr', '#' || pull,
      'pull request #' || pull || ' is open and no item''s work: name its item there (Fixes #7), record it in the item, or let it be')
    on conflict do nothing;
  else
    delete from defect where repository_id = repo and number = pull and code = 'foreign_pr';
  end if;
end $$;

create function on_pull_state() returns trigger language plpgsql as $$
begin
  perform keep_foreign_pull(new.repository_id, new.number);
  return null;
end $$;
create trigger pull_request_foreign after insert or update of state on pull_request for each row
  execute function on_pull_state();

create function on_own_pull_kept() returns trigger language plpgsql as $$
declare own record := coalesce(new, old);
begin
  perform keep_foreign_pull(own.repository_id, own.pull_number);
  return null;
end $$;
create trigger own_pull_foreign after insert or delete on own_pull for each row execute function on_own_pull_kept();

select keep_foreign_pull(repository_id, number) from pull_request;
insert into item_check (repository_id, number) select repository_id, number from item;
