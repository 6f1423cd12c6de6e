-- How far the mirror is known to be whole, what is done where it may not be, and how that is found out.

alter table repository
  -- What a pending reading reads. take_up: what was there before the App. since: what changed since `synced_to`.
  -- all: everything, so that what is gone is found too.
  add column backfill_mode text not null default 'take_up' check (backfill_mode in ('take_up', 'since', 'all')),
  -- When, by our clock, the last reading began that left nothing out since the one before; null: none was finished.
  add column synced_at timestamptz,
  -- GitHub's time of that moment: the next reading begins there.
  add column synced_to timestamptz,
  -- When the last reading of everything began.
  add column swept_at timestamptz;

-- Believed so far; the first reading, which is due at once, knows better.
update repository set synced_at = heard_at where backfill_state = 'done';

-- What a reading of everything has seen, until it is done: what it has not seen may be gone.
create table sweep_seen (
  repository_id   bigint not null,
  kind            text not null check (kind in ('issue', 'comment')),
  id              bigint not null,
  primary key (repository_id, kind, id)
);

-- ---------------------------------------------------------------- the audit of the App's deliveries

-- One row: there is one App. Between `covered_from` and `covered_to`, by our clock, GitHub tried to deliver everything
-- that happened, and what failed is in `missed_delivery`.
create table delivery_audit (
  singleton       boolean primary key default true check (singleton),
  covered_from    timestamptz,
  covered_to      timestamptz,
  -- The newest delivery that GitHub listed, and its time of it.
  last_id         bigint,
  last_at         timestamptz,
  -- Why the last audit could vouch for nothing; null: it could.
  doubt           text,
  -- Whether GitHub tells of links between issues. Where it does not (Enterprise Server), they are read; asked once a day.
  link_events     boolean not null default true,
  link_events_at  timestamptz,
  auditor         text,
  auditor_until   timestamptz
);
insert into delivery_audit default values;

-- Deliveries that GitHub could not make and that did not come since. Repository 0: of an installation.
create table missed_delivery (
  repository_id   bigint not null,
  guid            text not null,
  -- GitHub's id of the attempt that is asked for again.
  delivery_id     bigint not null,
  installation_id bigint,
  event           text not null,
  tries           integer not null default 0,
  noticed_at      timestamptz not null default db_now(),
  primary key (repository_id, guid)
);

-- Until when the mirror of a repository is known to be whole; null: it never was. By the last reading, or by the audits
-- since then, if no delivery of it was missed; and never later than the oldest delivery that waits to be worked off.
create function mirror_fresh_at(r repository) returns timestamptz language sql stable as $$
  select case when r.synced_at is not null then least(
    case when a.covered_from <= r.synced_at and r.installed
        and exists (select 1 from installation i
          where i.id = r.installation_id and i.suspended_at is null and i.removed_at is null)
        and not exists (select 1 from missed_delivery m where m.repository_id = r.id)
        and not exists (select 1 from missed_delivery m
          where m.repository_id = 0 and m.installation_id = r.installation_id)
        and not exists (select 1 from inbox f
          where f.repository_id = r.id and f.state = 'failed' and f.finished_at > r.synced_at)
      then greatest(r.synced_at, a.covered_to)
      else r.synced_at end,
    (select min(p.received_at) from inbox p where p.repository_id = r.id and p.state = 'pending')) end
  from delivery_audit a
$$;

-- Whoever did not say otherwise gets the default, which is 3,600 s now and was "never".
update repository set settings = settings - 'refuseClaimsWhenMirrorOlderThanSeconds'
where settings -> 'refuseClaimsWhenMirrorOlderThanSeconds' = 'null';
