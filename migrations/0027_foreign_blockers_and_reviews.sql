-- What GitHub tells of blockers in repositories where the App is not installed, and readings of a pull request's reviews.

-- ---------------------------------------------------------------- reviews

-- Whether its reviews are to be listed when it is read next: events of them may have been missed.
alter table pull_request add column reviews_due boolean not null default false;

-- ---------------------------------------------------------------- blockers where the App is not installed

-- What GitHub's list of an issue's blockers tells of one in a repository where the App is not. Nobody tells of its changes:
-- the list is read every so often. No row: nothing is told of it, and it blocks.
create table foreign_blocker (
  -- The blocked issue.
  repository_id         bigint not null,
  number                integer not null,
  -- As in record_link: 0 and the whole key while the repository is not known here.
  target_repository_id  bigint not null,
  target                text not null,
  open                  boolean not null,
  state_reason          text,
  primary key (repository_id, number, target_repository_id, target)
);
create index foreign_blocker_of on foreign_blocker (target_repository_id) where target_repository_id <> 0;

-- When the list of an item is read next; no row: at once.
create table foreign_reading (
  repository_id         bigint not null,
  number                integer not null,
  due_at                timestamptz not null,
  -- Of the answer that was taken last: the same one need not be told again.
  etag                  text,
  -- Why the last reading failed; null: it did not.
  error                 text,
  primary key (repository_id, number)
);

create index record_link_elsewhere on record_link (repository_id, number)
  where relation = 'blockedBy' and native and target_repository_id <> repository_id;

-- Whether what the edge of an issue points at no longer blocks it: where the App is not, by what GitHub's list tells, if it
-- tells anything (domain/blockers.ts says the same of the facts).
create function edge_satisfied(by_repo bigint, by_num integer, repo bigint, target text) returns boolean
language plpgsql stable as $$
declare told boolean;
begin
  if repo <> by_repo and not exists (select 1 from repository r where r.id = repo and r.installed) then
    select not f.open and coalesce(f.state_reason, 'completed') = 'completed' into told from foreign_blocker f
    where f.repository_id = by_repo and f.number = by_num and f.target_repository_id = repo and f.target = edge_satisfied.target;
    if found then return told; end if;
  end if;
  return blocker_satisfied(repo, target);
end $$;

-- As in 0002, with what is told of blockers elsewhere.
create or replace function refresh_item(repo bigint, num integer) returns void language plpgsql volatile as $$
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
        and not edge_satisfied(repo, num, l.target_repository_id, l.target)),
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

-- As in 0019, with what is told of blockers elsewhere.
create or replace function refresh_dependents(repo bigint, num integer) returns void language plpgsql volatile as $$
begin
  perform 1 from item i
  where (i.repository_id, i.number) in (select l.repository_id, l.number from record_link l
    where l.target_repository_id = repo and l.target_number = num and l.relation = 'blockedBy')
  order by i.repository_id, i.number for update;
  if not found then return; end if;
  update item i set open_blockers = anew.open
  from (
    select d.repository_id, d.number,
      count(*) filter (where not edge_satisfied(d.repository_id, d.number, b.target_repository_id, b.target)) as open
    from (select distinct l.repository_id, l.number from record_link l
        where l.target_repository_id = repo and l.target_number = num and l.relation = 'blockedBy'
          and l.number is not null) d
    join record_link b on b.repository_id = d.repository_id and b.number = d.number and b.relation = 'blockedBy'
    group by 1, 2) anew
  where i.repository_id = anew.repository_id and i.number = anew.number and i.open_blockers <> anew.open;
end $$;

create function on_foreign_blocker() returns trigger language plpgsql as $$
declare fact record := coalesce(new, old);
begin
  perform refresh_item(fact.repository_id, fact.number);
  perform ask_item_check(fact.repository_id, fact.number);
  return null;
end $$;
create trigger foreign_blocker_facts after insert or update or delete on foreign_blocker
  for each row execute function on_foreign_blocker();

-- A new edge is read at once, as is one that GitHub has now, too; and nothing is left of what was told of one that goes, or
-- that GitHub has no more.
create function on_edge_elsewhere() returns trigger language plpgsql as $$
declare edge record := coalesce(new, old);
begin
  if tg_op = 'DELETE' or not edge.native then
    delete from foreign_blocker where repository_id = edge.repository_id and number = edge.number
      and target_repository_id = edge.target_repository_id and target = edge.target;
  end if;
  delete from foreign_reading where repository_id = edge.repository_id and number = edge.number;
  return null;
end $$;
create trigger record_link_elsewhere_made after insert on record_link for each row
  when (new.relation = 'blockedBy' and new.target_repository_id <> new.repository_id)
  execute function on_edge_elsewhere();
create trigger record_link_elsewhere_native after update of native on record_link for each row
  when (new.relation = 'blockedBy' and new.target_repository_id <> new.repository_id and old.native is distinct from new.native)
  execute function on_edge_elsewhere();
create trigger record_link_elsewhere_gone after delete on record_link for each row
  when (old.relation = 'blockedBy' and old.target_repository_id <> old.repository_id)
  execute function on_edge_elsewhere();

-- Where the App comes to, its own events tell; what waits for something where it leaves is read at once, whatever mark the list
-- had: it was not kept for that.
create function on_repository_installed() returns trigger language plpgsql as $$
begin
  delete from foreign_reading r using record_link l
  where l.target_repository_id = new.id and l.relation = 'blockedBy' and l.native
    and r.repository_id = l.repository_id and r.number = l.number and l.repository_id <> new.id;
  delete from foreign_blocker where target_repository_id = new.id;
  return null;
end $$;
create trigger repository_heard after update of installed on repository for each row
  when (new.installed <> old.installed) execute function on_repository_installed();
