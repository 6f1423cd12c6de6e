-- GitHub's own links between issues (protocol 1): a sub-issue is a `partOf` edge, "blocked by" is a `blockedBy` edge.
-- record_link holds the union of native and own edges, so that whoever reads it need not know the difference.

alter table record_link
  add column own    boolean not null default true,
  add column native boolean not null default false,
  -- An edge that neither GitHub nor we have is no row.
  add constraint record_link_is_had check (own or native);

-- What GitHub said last of each edge, also that it is gone: a late event must not bring it back.
create table native_link (
  repository_id   bigint not null,
  -- The sub-issue, or the blocked issue. It need not be an item, nor its repository installed.
  number          integer not null,
  relation        text not null check (relation in ('blockedBy', 'partOf')),
  -- As in record_link: 0 and the whole key while the repository is not known here.
  target_repository_id bigint not null,
  target          text not null,
  -- GitHub's id of the issue: some payloads name it by nothing else.
  target_id       bigint,
  present         boolean not null,
  -- GitHub's times, whole seconds: of the younger of both ends, and of this end alone. Only times of the same
  -- issues can be compared: of one edge the former, of several parents of one issue the latter.
  said_at         timestamptz not null,
  end_at          timestamptz not null,
  primary key (repository_id, number, relation, target_repository_id, target)
);
create index native_link_reverse on native_link (target_repository_id, target);
-- Payloads may leave an issue out and name it by its id alone.
create index issue_by_id on issue (id);

-- Keeps record_link in step: removing one kind of edge leaves the other.
create function on_native_link() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.present then
    delete from record_link where repository_id = old.repository_id and topic = 'backlog'
      and id = 'issue-' || old.number and relation = old.relation
      and target_repository_id = old.target_repository_id and target = old.target and not own
      -- Said again, it stays in place: nothing that hangs on it is counted anew.
      and (tg_op = 'DELETE' or not new.present or (new.repository_id, new.number, new.relation, new.target_repository_id, new.target)
        is distinct from (old.repository_id, old.number, old.relation, old.target_repository_id, old.target));
    update record_link set native = false where repository_id = old.repository_id and topic = 'backlog'
      and id = 'issue-' || old.number and relation = old.relation
      and target_repository_id = old.target_repository_id and target = old.target and own and native;
  end if;
  if tg_op <> 'DELETE' and new.present then
    insert into record_link as l (repository_id, topic, id, relation, target_repository_id, target, own, native)
    values (new.repository_id, 'backlog', 'issue-' || new.number, new.relation, new.target_repository_id, new.target, false, true)
    on conflict (repository_id, topic, id, relation, target_repository_id, target) do update set native = true
      where not l.native;
  end if;
  return null;
end $$;
create trigger native_link_kept after insert or update or delete on native_link
  for each row execute function on_native_link();

-- ---------------------------------------------------------------- edges whose end gets another address

create index record_link_unknown on record_link (lower(split_part(target, '/', 2)), lower(split_part(target, '/', 3)))
  where target_repository_id = 0;

-- Points every edge at another target. An edge that is there already stays as it is.
create function retarget_links(old_repo bigint, old_target text, new_repo bigint, new_target text, new_id bigint)
returns void language plpgsql volatile as $$
begin
  insert into native_link (repository_id, number, relation, target_repository_id, target, target_id, present, said_at, end_at)
  select repository_id, number, relation, new_repo, new_target, coalesce(new_id, target_id), present, said_at, end_at
  from native_link where target_repository_id = old_repo and target = old_target
  on conflict do nothing;
  delete from native_link where target_repository_id = old_repo and target = old_target;
  insert into record_link as l (repository_id, topic, id, relation, target_repository_id, target, created_at)
  select repository_id, topic, id, relation, new_repo, new_target, created_at
  from record_link where target_repository_id = old_repo and target = old_target and own
  on conflict (repository_id, topic, id, relation, target_repository_id, target) do update set own = true;
  delete from record_link where target_repository_id = old_repo and target = old_target;
end $$;

-- A repository gets to be known: edges that named it point at it from now on.
create function on_repository_named() returns trigger language plpgsql as $$
declare old_target text;
begin
  for old_target in
    select distinct target from record_link
    where target_repository_id = 0 and lower(split_part(target, '/', 2)) = lower(new.owner)
      and lower(split_part(target, '/', 3)) = lower(new.name) and target like 'repo/%'
    order by 1
  loop
    perform retarget_links(0, old_target, new.id, substr(old_target, length('repo/' || new.owner || '/' || new.name || '/') + 1), null);
  end loop;
  return null;
end $$;
create trigger repository_named after insert or update of owner, name, current_name on repository
  for each row when (new.current_name and new.id > 0) execute function on_repository_named();

-- Where a transferred issue went. It outlives what is known of either issue: events of the old one come late.
create table moved_issue (
  repository_id   bigint not null,
  number          integer not null,
  to_repository_id bigint not null,
  to_number       integer not null,
  primary key (repository_id, number)
);

-- A transferred issue takes its native links along, and everything that pointed at it points at its new place. What
-- its record was linked to by us stays with the record.
create function move_links(old_repo bigint, old_num integer, new_repo bigint, new_num integer, new_id bigint)
returns void language plpgsql volatile as $$
begin
  insert into native_link (repository_id, number, relation, target_repository_id, target, target_id, present, said_at, end_at)
  select new_repo, new_num, relation, target_repository_id, target, target_id, present, said_at, end_at
  from native_link where repository_id = old_repo and number = old_num
  on conflict do nothing;
  delete from native_link where repository_id = old_repo and number = old_num;
  perform retarget_links(old_repo, 'mem/backlog/issue-' || old_num, new_repo, 'mem/backlog/issue-' || new_num, new_id);
end $$;

-- ---------------------------------------------------------------- kept facts, over repositories and before enrolment

-- As before, and an epic in another repository counts its parts too.
create or replace function on_record_link() returns trigger language plpgsql as $$
declare
  edge record := coalesce(new, old);
  part integer;
begin
  if edge.number is null or edge.relation not in ('blockedBy', 'partOf', 'integrates') then return null; end if;
  perform refresh_item(edge.repository_id, edge.number);
  if edge.relation = 'partOf' and edge.target_number is not null then
    perform refresh_item(edge.target_repository_id, edge.target_number);
    if edge.target_repository_id = edge.repository_id then
      for part in select * from descendants_of(edge.repository_id, edge.number) order by 1 loop
        perform refresh_item(edge.repository_id, part);
      end loop;
    end if;
  end if;
  return null;
end $$;

-- What an item is part of, in any repository, counts it or no longer does.
create function refresh_epics(repo bigint, num integer) returns void language plpgsql volatile as $$
declare epic record;
begin
  for epic in
    select l.target_repository_id as repository_id, l.target_number as number from record_link l
    where l.repository_id = repo and l.number = num and l.relation = 'partOf' and l.target_number is not null
    order by 1, 2
  loop
    perform refresh_item(epic.repository_id, epic.number);
  end loop;
end $$;

create or replace function on_item_enrolled() returns trigger language plpgsql as $$
begin
  perform refresh_epics(new.repository_id, new.number);
  return null;
end $$;

-- A native edge may be older than the item.
create or replace function on_item_insert() returns trigger language plpgsql as $$
begin
  perform refresh_item(new.repository_id, new.number);
  perform refresh_dependents(new.repository_id, new.number);
  perform refresh_epics(new.repository_id, new.number);
  return null;
end $$;

-- And older than what the mirror knows of its blocker.
create function on_issue_insert() returns trigger language plpgsql as $$
begin
  perform refresh_dependents(new.repository_id, new.number);
  return null;
end $$;
create trigger issue_insert_kept after insert on issue for each row execute function on_issue_insert();

-- ---------------------------------------------------------------- cycles

-- Issues that wait for each other (or are part of each other). Ours are refused when they are authored; those that
-- GitHub brings are reported. One row a member, in order.
create table cycle_member (
  repository_id   bigint not null,
  number          integer not null,
  relation        text not null,
  -- Names the cycle: a digest of its members, the smallest first.
  cycle           text not null,
  place           integer not null,
  since           timestamptz not null default db_now(),
  primary key (repository_id, number, cycle)
);
create index cycle_member_by_cycle on cycle_member (cycle, place);

-- A circle with a complete member is open at that place: the others look at their defects again (0012 keeps those).
create function on_cycle_member_state() returns trigger language plpgsql as $$
declare other record;
begin
  for other in
    select distinct o.repository_id, o.number from cycle_member m join cycle_member o on o.cycle = m.cycle
    where m.repository_id = new.repository_id and m.number = new.number order by 1, 2
  loop
    perform ask_item_check(other.repository_id, other.number);
  end loop;
  return null;
end $$;
create trigger item_cycle_kept after update of state on item for each row
  when (old.state is distinct from new.state) execute function on_cycle_member_state();
create trigger issue_cycle_kept after update on issue for each row
  when (old.state is distinct from new.state or old.state_reason is distinct from new.state_reason
        or old.gone is distinct from new.gone) execute function on_cycle_member_state();
