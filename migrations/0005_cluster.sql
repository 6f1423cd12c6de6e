-- Tokens that survive everything (protocol 4, "Token").
--
-- What must hold: no fencing token is issued twice. What can go wrong: a restored dump, a restored folder or disk and
-- a promoted standby that lagged all bring a sequence that is behind tokens which were issued, and nothing in the
-- data tells of those. So the place is watched: a grant takes its token only where the sequence was last known to be.
-- Anywhere else the sequence is raised first, above every known fence and to the current time.
--
-- The time is counted in microseconds, though milliseconds would do for one raise: for the next raise to be above all
-- that was issued meanwhile, the sequence must stay behind the clock, and there may be more than 1,000 grants in a
-- second.

-- Beyond this, a number in JSON is rounded, and two tokens would be one. The clock gets there in the year 2255.
alter sequence fence maxvalue 9007199254740991;

-- Where the sequence was last known to be. No row: nothing is known, also not what an earlier database has issued.
create table fence_home (
  singleton       boolean primary key default true check (singleton),
  -- A restored or copied folder, disk or machine must be started before it serves, and a standby runs under another
  -- postmaster than the primary whose row it has: any other cluster or timeline shows here. It is in memory, readable
  -- for every role, so that every grant can compare it, whatever pooler it comes through; the cluster's identifier
  -- takes 16 µs to read from a file.
  postmaster_at   timestamptz not null,
  -- The database and the sequence in it: others in a copy that was made inside of one cluster.
  sequence_file   text not null,
  -- The row's own xmin, unless it was put here by something else than a raise: a restored dump, a replica of rows.
  written_by      xid not null,
  -- To say what has changed. Null where this role may not ask, as with some providers.
  cluster         bigint,
  timeline        text
);

create function fence_is_home() returns boolean language sql stable as $$
  select exists (select 1 from fence_home where postmaster_at = pg_postmaster_start_time()
    and sequence_file = pg_relation_filepath('fence') and written_by = xmin)
$$;

create function cluster_identifier() returns bigint language plpgsql stable as $$
begin
  return (select system_identifier from pg_control_system());
exception when others then return null;
end $$;

create function cluster_timeline() returns text language plpgsql stable as $$
begin
  return substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
exception when others then return null;
end $$;

-- From now on the sequence is at home here. Safe only after a raise, or where no token was ever issued.
create function note_fence_home() returns void language plpgsql volatile as $$
declare own xid;
begin
  insert into fence_home (postmaster_at, sequence_file, written_by, cluster, timeline)
  values (pg_postmaster_start_time(), pg_relation_filepath('fence'), '0', cluster_identifier(), cluster_timeline())
  on conflict (singleton) do update set postmaster_at = excluded.postmaster_at,
    sequence_file = excluded.sequence_file, cluster = excluded.cluster, timeline = excluded.timeline
  returning xmin into own;
  update fence_home set written_by = own;
end $$;

-- The highest fence in any table, also those of later migrations: the columns `fence`, `…_fence`, and
-- `attempts_after`, which is one.
create function known_fence() returns bigint language plpgsql volatile as $$
declare
  fences record;
  highest bigint;
  known bigint := 0;
begin
  for fences in
    select a.attrelid::regclass as place, a.attname as name
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not a.attisdropped
      and a.atttypid = 'bigint'::regtype and (a.attname in ('fence', 'attempts_after') or a.attname like '%\_fence')
  loop
    execute format('select max(%I) from %s', fences.name, fences.place) into highest;
    known := greatest(known, highest);
  end loop;
  return known;
end $$;

-- What the sequence gave last, whoever took it and whether or not that was committed.
create function issued_fence() returns bigint language sql volatile as $$
  select case when is_called then last_value else last_value - 1 end from fence
$$;

-- Raises the sequence above the floor. Only under the lock: setval is not undone by a rollback, and two raisers must
-- not lower each other's. A crash before the commit loses only the note of it, and the next grant raises again.
create function lift_fence(floor bigint, why text, expected boolean) returns void language plpgsql volatile as $$
declare
  known bigint := greatest(floor, issued_fence());
  now_us bigint;
  target bigint;
begin
  -- Ahead of what is known by 10 ms: more than others take from the sequence while we look.
  loop
    now_us := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    exit when now_us > known + 10000 or now_us < known - 2000000;
    perform pg_sleep(0.005);
  end loop;
  target := now_us;
  -- This clock is behind that of an earlier raise, so unknown tokens may lie just above the known ones. Well beyond
  -- them, then, and by chance, so that two restores of one dump do not go to the same place.
  if now_us <= known then target := known + 1000000000 + (random() * 1000000000)::bigint; end if;
  perform setval('fence', target);
  -- The log gets it from here (store/database.ts).
  if expected then
    raise notice 'fencing tokens were raised' using errcode = 'LH001', detail = format('above %s: %s', target, why);
  else
    raise warning 'fencing tokens were raised' using errcode = 'LH001', detail = format('above %s: %s', target, why);
  end if;
end $$;

drop function raise_fence(bigint);
-- Raises the sequence, if it has not reached that fence. One that it has reached costs no lock.
create function raise_fence(floor bigint, why text) returns void language plpgsql volatile as $$
begin
  if issued_fence() >= floor then return; end if;
  perform pg_advisory_xact_lock(7203, 1);
  if issued_fence() < floor then perform lift_fence(floor, why, false); end if;
end $$;

-- The sequence is not where it was last known to be: raises it, and notes where it is now. One session does it, the
-- others wait for its commit.
create function settle_fence() returns void language plpgsql volatile as $$
declare
  was fence_home;
  is_row_own boolean;
  cluster bigint := cluster_identifier();
  timeline text := cluster_timeline();
  known bigint;
  why text;
begin
  if pg_is_in_recovery() then
    raise exception 'this PostgreSQL is a standby, where no claim can be granted' using errcode = '25006';
  end if;
  perform pg_advisory_xact_lock(7203, 1);
  if fence_is_home() then return; end if;
  select h.* into was from fence_home h;
  select h.written_by = h.xmin into is_row_own from fence_home h;
  known := known_fence();
  if was is null then
    if known > 0 then why := 'it is not known where they were issued before'; end if;
  elsif was.cluster <> cluster then
    why := format('another PostgreSQL cluster, %s in place of %s', cluster, was.cluster);
  elsif was.timeline <> timeline then
    why := format('timeline %s in place of %s: a standby was promoted or a backup restored', timeline, was.timeline);
  elsif not is_row_own or was.sequence_file <> pg_relation_filepath('fence') then
    why := 'the database was restored or copied';
  elsif cluster is null or timeline is null then
    why := 'PostgreSQL was started, and this role may not ask whether it is the same cluster';
  end if;
  perform lift_fence(known, coalesce(why, case when was is null then 'this database is new'
    else 'PostgreSQL was started, as a restored copy of its folder would be' end), why is null);
  perform note_fence_home();
end $$;

-- The next fencing token: above the record's mark, and never issued before. Once for every grant.
create or replace function next_fence(mark bigint) returns bigint language plpgsql volatile as $$
declare token bigint;
begin
  if not fence_is_home() then perform settle_fence(); end if;
  -- A grant that was answered must outlive a crash, or its token would be issued again.
  if current_setting('synchronous_commit') = 'off' then perform set_config('synchronous_commit', 'local', true); end if;
  token := nextval('fence');
  if token > mark then return token; end if;
  perform raise_fence(mark, 'a record''s mark was above the sequence');
  return nextval('fence');
end $$;
