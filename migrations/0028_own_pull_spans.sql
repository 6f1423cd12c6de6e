-- Since when an item has had its own pull request open, or none: what role it came from when it was claimed, and went to
-- when that ended (protocol 9). The listing of transitions reads it; claims do not know of it.

create table own_pull_span (
  repository_id   bigint not null,
  number          integer not null,
  at              timestamptz not null default db_now(),
  open            boolean not null default false,
  primary key (repository_id, number, at)
);
insert into own_pull_span (repository_id, number, open)
  select repository_id, number, true from item where review is not null;

create function on_own_pull_span() returns trigger language plpgsql as $$
begin
  insert into own_pull_span (repository_id, number, open)
    values (new.repository_id, new.number, new.review is not null)
    on conflict (repository_id, number, at) do update set open = excluded.open;
  return null;
end $$;
create trigger item_own_pull_span after update on item for each row
  when ((old.review is null) <> (new.review is null)) execute function on_own_pull_span();

-- The role beside `work` that an item had at this time: nobody held it, and it was neither parked nor at its end.
create function resting_role(repo bigint, num integer, then_at timestamptz) returns text language sql stable as $$
  select case when coalesce((select s.open from own_pull_span s
      where s.repository_id = repo and s.number = num and s.at <= then_at order by s.at desc limit 1), false)
    then 'review' else 'queue' end
$$;
