-- Events (api.md, "Resources, tokens, events"): a log of what happened, in the order of commits, for those who follow it.
--
-- Triggers write an event in the transaction of the change, so that no change can forget its own, whoever makes it. They
-- write it without a number: numbers that are taken at an insert are seen at a commit, and a reader that goes by them
-- loses the slower of two transactions. Events get their numbers, which are what clients know them by, after the commit,
-- from one process at a time (`number_events`), and are read only with a number.

-- Committed or about to be, and without a number yet. A row lives for milliseconds.
create table event_new (
  -- The order of changes that wait for each other (of one record, under its lock): within one numbering it decides.
  seq             bigint generated always as identity primary key,
  repository_id   bigint not null,
  type            text not null,
  -- The item, or the pull request of a defect; null for memory.
  number          integer,
  data            jsonb not null default '{}',
  at              timestamptz not null default db_now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create table event (
  repository_id   bigint not null,
  id              bigint not null,
  type            text not null,
  number          integer,
  data            jsonb not null,
  at              timestamptz not null,
  primary key (repository_id, id)
);
-- The log as it is followed, over all repositories.
create unique index event_by_id on event (id);

-- How far the log goes: its last number, and the last one that was removed for its age.
create table event_log (
  singleton       boolean primary key default true check (singleton),
  last_id         bigint not null,
  pruned_id       bigint not null
);
insert into event_log (last_id, pruned_id)
select now.id, now.id from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as id) now;

-- Gives numbers to what was committed since, at most so many. Answers how many got one, and the last number there is.
-- Whoever comes while another is at it leaves it to that one. Numbers only go up, and begin at the time in microseconds:
-- after a restore of an older state none is given again that a client may know from the state that was lost.
create function number_events(most integer) returns json language plpgsql volatile as $$
declare
  base bigint;
  last bigint;
  numbered integer := 0;
begin
  perform 1 from event_new order by seq limit 1;
  if found and pg_try_advisory_xact_lock(7203, 14) then
    select greatest(last_id, (extract(epoch from clock_timestamp()) * 1000000)::bigint) into base from event_log;
    with taken as (
      delete from event_new where seq in (select seq from event_new order by seq limit most)
      returning seq, repository_id, type, number, data, at),
    placed as (
      insert into event (repository_id, id, type, number, data, at)
      select repository_id, base + row_number() over (order by seq), type, number, data, at from taken
      returning id)
    select count(*), max(id) into numbered, last from placed;
    if numbered > 0 then
      update event_log set last_id = last;
      perform pg_notify('event', '');
    end if;
  end if;
  select last_id into last from event_log;
  return json_build_object('numbered', numbered, 'last', last);
end $$;

-- Removes numbered events from before `oldest`, the first ones first, at most so many; answers how many.
create function prune_events(oldest timestamptz, most integer) returns integer language plpgsql volatile as $$
declare
  bound bigint;
  pruned integer;
begin
  -- The log is nearly in the order of its times: its head is all that need be looked at.
  select max(id) into bound from (select id, at from event order by id limit most) head where at < oldest;
  if bound is null then return 0; end if;
  -- First, so that whoever asks for what is about to go is told that it is gone.
  update event_log set pruned_id = greatest(pruned_id, bound);
  delete from event where id <= bound;
  get diagnostics pruned = row_count;
  return pruned;
end $$;

-- Writes an event in this transaction: for triggers. `data` is what the type carries beyond repository, number and time;
-- whoever reaches the item reads it.
create function log_event(repo bigint, p_type text, p_number integer, p_data jsonb) returns void
language plpgsql volatile as $$
begin
  insert into event_new (repository_id, type, number, data) values (repo, p_type, p_number, p_data);
end $$;

-- ---------------------------------------------------------------- claims: on the hot path, one insert each

create function on_grant_event() returns trigger language plpgsql as $$
begin
  insert into event_new (repository_id, type, number, data, at)
  values (new.repository_id, 'item.claimed', substr(new.id, 7)::integer, jsonb_build_object(
    'owner', new.owner, 'region', new.region, 'scope', new.scope, 'fencingToken', new.fence,
    'custodyChanged', new.new_attempt), new.granted_at);
  return null;
end $$;
create trigger claim_grant_event after insert on claim_grant for each row
  when (new.topic = 'backlog' and new.id ~ '^issue-[1-9][0-9]{0,8}$') execute function on_grant_event();

create function on_grant_end_event() returns trigger language plpgsql as $$
begin
  insert into event_new (repository_id, type, number, data)
  values (new.repository_id, 'item.released', substr(new.id, 7)::integer, jsonb_build_object(
    'owner', new.owner, 'fencingToken', new.fence, 'how', new.ended));
  return null;
end $$;
create trigger claim_grant_end_event after update of ended on claim_grant for each row
  when (old.ended is null and new.ended is not null and new.topic = 'backlog'
        and new.id ~ '^issue-[1-9][0-9]{0,8}$') execute function on_grant_end_event();

-- ---------------------------------------------------------------- items

create function without_state(tags text[]) returns text[] language sql immutable as $$
  select array(select t from unnest(tags) t where t not like 'state:%' order by t)
$$;

create function on_item_made_event() returns trigger language plpgsql as $$
begin
  perform log_event(new.repository_id, 'item.enrolled', new.number, jsonb_build_object('admitted', new.admitted));
  if new.admitted then perform log_event(new.repository_id, 'item.admitted', new.number, '{}'); end if;
  return null;
end $$;
create trigger item_made_event after insert on item for each row
  when (new.enrolled) execute function on_item_made_event();

create function on_item_event() returns trigger language plpgsql as $$
declare
  repo bigint := new.repository_id;
  num integer := new.number;
  changed text[] := '{}';
begin
  if not new.enrolled then
    if old.enrolled then perform log_event(repo, 'item.updated', num, '{"changed": ["enrolled"]}'); end if;
    return null;
  end if;
  if not old.enrolled then
    perform log_event(repo, 'item.enrolled', num, jsonb_build_object('admitted', new.admitted));
  end if;
  if new.admitted and not (old.enrolled and old.admitted) then
    perform log_event(repo, 'item.admitted', num, '{}');
  elsif old.admitted and not new.admitted then
    perform log_event(repo, 'item.unadmitted', num, '{}');
  end if;
  if old.state is distinct from new.state then
    if old.state in ('complete', 'cancelled') and (new.state is null or new.state = 'parked') then
      perform log_event(repo, 'item.reopened', num, '{}');
    end if;
    case new.state
      when 'complete' then perform log_event(repo, 'item.completed', num, '{}');
      when 'cancelled' then perform log_event(repo, 'item.cancelled', num, '{}');
      when 'parked' then perform log_event(repo, 'item.parked', num, jsonb_build_object(
        'reason', new.park_reason, 'rulingOwner', new.ruling_owner, 'question', new.question));
      else
        if old.state = 'parked' then perform log_event(repo, 'item.unparked', num, '{}'); end if;
    end case;
  end if;
  if old.title is distinct from new.title then changed := changed || 'title'::text; end if;
  if without_state(old.tags) is distinct from without_state(new.tags) then changed := changed || 'tags'::text; end if;
  if old.issue_open <> new.issue_open then changed := changed || 'issueState'::text; end if;
  if old.review is distinct from new.review then changed := changed || 'review'::text; end if;
  -- What it is about comes with its making.
  if old.enrolled and changed <> '{}' then
    perform log_event(repo, 'item.updated', num, jsonb_build_object('changed', changed));
  end if;
  -- Its own pull request opened or closed, which no transition tells of (domain/item-state.ts, `roleOf`).
  if (old.review is null) <> (new.review is null) and old.state is null and new.state is null and new.hold_at is null
     and new.started_under is null and held(repo, num, db_now()) is null then
    perform log_event(repo, 'item.role_changed', num, jsonb_build_object('trigger', 'review',
      'from', case when old.review is null then 'queue' else 'review' end,
      'to', case when new.review is null then 'queue' else 'review' end));
  end if;
  return null;
end $$;
create trigger item_event after update on item for each row
  when (old.repository_id = new.repository_id
    and (old.enrolled, old.admitted, old.state, old.title, old.tags, old.issue_open, old.review)
      is distinct from (new.enrolled, new.admitted, new.state, new.title, new.tags, new.issue_open, new.review))
  execute function on_item_event();

create function log_item_update(repo bigint, num integer, what text) returns void language plpgsql volatile as $$
begin
  if exists (select 1 from item where repository_id = repo and number = num and enrolled) then
    perform log_event(repo, 'item.updated', num, jsonb_build_object('changed', array[what]));
  end if;
end $$;

create function on_label_event() returns trigger language plpgsql as $$
begin
  perform log_item_update(new.repository_id, new.number, 'labels');
  return null;
end $$;
create trigger issue_label_event after update of labels on issue for each row
  when (old.labels is distinct from new.labels) execute function on_label_event();

create function on_resume_event() returns trigger language plpgsql as $$
begin
  perform log_item_update(new.repository_id, new.number, 'resume');
  return null;
end $$;
create trigger resume_block_made_event after insert on resume_block for each row execute function on_resume_event();
create trigger resume_block_event after update on resume_block for each row
  when (old.repository_id = new.repository_id and old is distinct from new) execute function on_resume_event();

create function on_transition_event() returns trigger language plpgsql as $$
begin
  perform log_event(new.repository_id, 'item.role_changed', new.number,
    jsonb_build_object('trigger', new.trigger, 'from', new.from_role, 'to', new.to_role));
  return null;
end $$;
create trigger transition_event after insert on transition for each row
  when (new.from_role <> new.to_role) execute function on_transition_event();

-- ---------------------------------------------------------------- edges, memory, defects

-- An edge of an issue that is no item is nobody's news yet.
create function on_link_event() returns trigger language plpgsql as $$
declare edge record := coalesce(new, old);
begin
  if edge.relation not in ('blockedBy', 'partOf', 'integrates') then
    perform log_item_update(edge.repository_id, edge.number, 'links');
  elsif exists (select 1 from item where repository_id = edge.repository_id and number = edge.number and enrolled) then
    perform log_event(edge.repository_id, case when tg_op = 'DELETE' then 'dependency.removed' else 'dependency.added' end,
      edge.number, jsonb_build_object('relation', edge.relation, 'on', jsonb_build_object(
        'repositoryId', edge.target_repository_id, 'target', edge.target)));
  end if;
  return null;
end $$;
create trigger record_link_made_event after insert on record_link for each row
  when (new.number is not null) execute function on_link_event();
create trigger record_link_gone_event after delete on record_link for each row
  when (old.number is not null) execute function on_link_event();

create function on_record_event() returns trigger language plpgsql as $$
declare memory record := coalesce(new, old);
begin
  if memory.topic <> 'backlog' then
    perform log_event(memory.repository_id, case when tg_op = 'DELETE' then 'memory.forgotten' else 'memory.written' end,
      null, jsonb_build_object('topic', memory.topic, 'recordId', memory.id, 'kind', memory.kind));
  elsif item_number(memory.topic, memory.id) is not null then
    perform log_item_update(memory.repository_id, item_number(memory.topic, memory.id), 'record');
  end if;
  return null;
end $$;
create trigger record_made_event after insert on record for each row
  when (new.topic <> 'backlog') execute function on_record_event();
create trigger record_gone_event after delete on record for each row
  when (old.topic <> 'backlog') execute function on_record_event();
-- An item's tags are told of with the item; what else its record holds is here.
create trigger record_changed_event after update on record for each row
  when (old.repository_id = new.repository_id and (new.topic <> 'backlog'
    or (old.kind, old.title, old.body, old.author, old.provenance)
      is distinct from (new.kind, new.title, new.body, new.author, new.provenance)))
  execute function on_record_event();

create function on_defect_event() returns trigger language plpgsql as $$
declare found record := coalesce(new, old);
begin
  perform log_event(found.repository_id, case when tg_op = 'DELETE' then 'defect.closed' else 'defect.opened' end,
    found.number, jsonb_build_object('code', found.code, 'value', found.value, 'detail', found.detail));
  return null;
end $$;
create trigger defect_opened_event after insert on defect for each row execute function on_defect_event();
create trigger defect_closed_event after delete on defect for each row execute function on_defect_event();
