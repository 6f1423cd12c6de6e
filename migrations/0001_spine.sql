-- The spine: mirror, inbox, outbox, items, memory, claims.
-- Every table leads with the repository id, so that it can be sharded by it.
-- Hot tables carry no foreign keys to repository: each check would lock the one
-- repository row in share mode for every claim. adopt_repository() re-keys instead.

-- The one clock that decides expiry. Tests replace this function to set the time.
create function db_now() returns timestamptz language sql volatile as $$ select clock_timestamp() $$;

-- ---------------------------------------------------------------- GitHub accounts and repositories

create table installation (
  id              bigint primary key,
  account_id      bigint,
  account_login   text not null,
  suspended_at    timestamptz,
  removed_at      timestamptz,
  -- One process at a time writes to GitHub for an installation.
  writer          text,
  writer_until    timestamptz,
  -- GitHub said to wait until then (retry-after); survives restarts.
  paused_until    timestamptz
);

-- Repositories that live only here (no GitHub App yet) have negative ids.
create sequence local_repository_id increment by -1 minvalue -9223372036854775807 maxvalue -1 start -1;

create table repository (
  id              bigint primary key,
  installation_id bigint,
  owner           text not null,
  name            text not null,
  default_branch  text not null default 'main',
  html_url        text,
  installed       boolean not null default false,
  archived        boolean not null default false,
  settings        jsonb not null default '{}',
  backfill_state  text not null default 'none' check (backfill_state in ('none', 'pending', 'done')),
  backfill_cursor jsonb,
  backfill_error  text,
  -- GitHub's time of the description that is stored: an older one, delivered late, changes nothing.
  described_at    timestamptz,
  backfiller      text,
  backfiller_until timestamptz,
  heard_at        timestamptz,
  -- A name belongs to one repository at a time; a row that lost its name keeps its history.
  current_name    boolean not null default true,
  created_at      timestamptz not null default db_now()
);
create unique index repository_by_name on repository (lower(owner), lower(name)) where current_name;
create index repository_by_installation on repository (installation_id);

-- ---------------------------------------------------------------- inbox: what GitHub sent

create table inbox (
  repository_id   bigint not null,
  hook_id         text not null,
  delivery_id     text not null,
  seq             bigint generated always as identity,
  event           text not null,
  action          text,
  -- What must stay in order: one lane per issue, one per repository for the rest.
  lane            text not null,
  -- Text, not jsonb: jsonb refuses U+0000, and the signed bytes must stay verifiable.
  payload         text not null,
  state           text not null default 'pending' check (state in ('pending', 'done', 'failed')),
  attempts        integer not null default 0,
  error           text,
  received_at     timestamptz not null default db_now(),
  next_try_at     timestamptz not null default db_now(),
  locked_until    timestamptz,
  finished_at     timestamptz,
  primary key (repository_id, hook_id, delivery_id)
);
create unique index inbox_seq on inbox (seq);
create index inbox_lane on inbox (repository_id, lane, seq) where state = 'pending';
create index inbox_due on inbox (seq) where state = 'pending';
create index inbox_failed on inbox (repository_id, finished_at) where state = 'failed';
create index inbox_done on inbox (finished_at) where state = 'done';

-- ---------------------------------------------------------------- mirror: GitHub is its only writer

create table issue (
  repository_id   bigint not null,
  number          integer not null,
  id              bigint not null,
  node_id         text,
  title           text not null,
  body            text,
  state           text not null check (state in ('open', 'closed')),
  state_reason    text,
  labels          text[] not null default '{}',
  author_id       bigint,
  author_login    text,
  author_type     text,
  author_association text,
  via_app_id      bigint,
  assignees       text[] not null default '{}',
  milestone       text,
  locked          boolean not null default false,
  html_url        text not null,
  -- Deleted, transferred or converted: the number is never reused, the row stays.
  gone            text,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  closed_at       timestamptz,
  primary key (repository_id, number)
);

create table issue_comment (
  repository_id   bigint not null,
  id              bigint not null,
  issue_number    integer not null,
  body            text not null,
  author_id       bigint,
  author_login    text,
  author_type     text,
  author_association text,
  via_app_id      bigint,
  html_url        text,
  deleted         boolean not null default false,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  primary key (repository_id, id)
);
create index issue_comment_by_issue on issue_comment (repository_id, issue_number, id);

create table label (
  repository_id   bigint not null,
  id              bigint not null,
  name            text not null,
  color           text,
  description     text,
  primary key (repository_id, id)
);

create table pull_request (
  repository_id   bigint not null,
  number          integer not null,
  id              bigint not null,
  title           text not null,
  body            text,
  state           text not null check (state in ('open', 'closed')),
  draft           boolean not null default false,
  merged_at       timestamptz,
  merge_sha       text,
  -- Null until the pull request itself was read: the issue list names it without branches.
  base_ref        text,
  head_ref        text,
  head_sha        text,
  head_repository_id bigint,
  author_id       bigint,
  author_login    text,
  author_type     text,
  author_association text,
  html_url        text not null,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  closed_at       timestamptz,
  primary key (repository_id, number)
);
create index pull_request_by_head on pull_request (repository_id, head_ref) where state = 'open';

-- Which issues a pull request's text closes by keyword.
create table pull_request_closes (
  repository_id   bigint not null,
  pull_number     integer not null,
  issue_number    integer not null,
  primary key (repository_id, pull_number, issue_number)
);
create index pull_request_closes_by_issue on pull_request_closes (repository_id, issue_number);

create table pull_request_review (
  repository_id   bigint not null,
  id              bigint not null,
  pull_number     integer not null,
  reviewer_id     bigint,
  reviewer_login  text,
  state           text not null,
  commit_sha      text,
  submitted_at    timestamptz,
  primary key (repository_id, id)
);
create index pull_request_review_by_pull on pull_request_review (repository_id, pull_number);

create table check_suite (
  repository_id   bigint not null,
  id              bigint not null,
  head_sha        text not null,
  head_branch     text,
  app_slug        text,
  status          text,
  conclusion      text,
  updated_at      timestamptz not null,
  primary key (repository_id, id)
);
create index check_suite_by_sha on check_suite (repository_id, head_sha);

create table branch (
  repository_id   bigint not null,
  name            text not null,
  head_sha        text,
  pusher_id       bigint,
  pusher_login    text,
  pushed_at       timestamptz not null,
  primary key (repository_id, name)
);

-- ---------------------------------------------------------------- records and items

create table record (
  repository_id   bigint not null,
  topic           text not null,
  id              text not null,
  kind            text not null,
  title           text,
  body            text,
  author          text,
  provenance      text,
  tags            text[] not null default '{}',
  expires_at      timestamptz,
  created_at      timestamptz not null default db_now(),
  updated_at      timestamptz not null default db_now(),
  primary key (repository_id, topic, id)
);

create table record_link (
  repository_id   bigint not null,
  topic           text not null,
  id              text not null,
  relation        text not null,
  -- 0 when the target names a repository that is not known here.
  target_repository_id bigint not null,
  -- mem/<topic>/<id> or file/<path>; the whole key when the repository is not known.
  target          text not null,
  created_at      timestamptz not null default db_now(),
  -- The items at both ends, if they are items: joins need numbers, not text.
  number          integer generated always as
    (case when topic = 'backlog' and id ~ '^issue-[1-9][0-9]{0,8}$' then substr(id, 7)::integer end) stored,
  target_number   integer generated always as
    (case when target ~ '^mem/backlog/issue-[1-9][0-9]{0,8}$' then substr(target, 19)::integer end) stored,
  primary key (repository_id, topic, id, relation, target_repository_id, target)
);
create index record_link_of_item on record_link (repository_id, number, relation) where number is not null;
create index record_link_to_item on record_link (target_repository_id, target_number, relation) where target_number is not null;
create index record_link_reverse on record_link (target_repository_id, target, relation);

create table item (
  repository_id   bigint not null,
  number          integer not null,
  -- False when the enrolment label was taken away: not offered, nothing forgotten.
  enrolled        boolean not null default true,
  admitted        boolean not null,
  admitted_by     text,
  -- GitHub's time of the event that decided admission last; an older one changes nothing.
  admission_at    timestamptz not null,
  -- Mirrors the record's state: tag, which is the truth; 'cancelled' has no tag.
  state           text check (state in ('complete', 'parked', 'cancelled')),
  state_at        timestamptz,
  state_by        text,
  -- GitHub's time of the event that decided the state last; the database's clock never orders events.
  state_event_at  timestamptz,
  -- Only fences above this one count as attempts (a human unparked).
  attempts_after  bigint not null default 0,
  -- It was parked when it ended: reopening never unparks.
  was_parked      boolean not null default false,
  park_reason     text,
  ruling_owner    text,
  question        text,
  created_at      timestamptz not null,
  primary key (repository_id, number)
);
create index item_live on item (repository_id, number) where state is null or state = 'parked';

-- Defects that only an event shows; those that follow from the facts are derived when read.
create table incident (
  repository_id   bigint not null,
  number          integer not null,
  code            text not null,
  value           text not null,
  detail          text not null,
  since           timestamptz not null default db_now(),
  primary key (repository_id, number, code, value)
);

-- ---------------------------------------------------------------- claims

create sequence fence as bigint minvalue 1 start 1 cache 1;

-- The next fencing token above a record's high-water mark. A sequence can fall behind (a restore);
-- then it is raised above the mark and to the current epoch in milliseconds at least.
create function next_fence(mark bigint) returns bigint language plpgsql volatile as $$
declare token bigint := nextval('fence');
begin
  if token > mark then return token; end if;
  perform raise_fence(mark);
  return nextval('fence');
end $$;

-- Raises the sequence to the floor, so that the next token is above it. One that is there already stays.
create function raise_fence(floor bigint) returns void language plpgsql volatile as $$
begin
  -- setval is not transactional: two raisers must not lower each other's.
  perform pg_advisory_xact_lock(7203, 1);
  if (select case when is_called then last_value else last_value - 1 end from fence) < floor then
    perform setval('fence', greatest(floor, (extract(epoch from clock_timestamp()) * 1000)::bigint));
  end if;
end $$;

-- One row per record that was ever claimed. It outlives the record: the mark is never lowered.
create table claim (
  repository_id   bigint not null,
  topic           text not null,
  id              text not null,
  fence           bigint not null,
  live            boolean not null,
  owner           text not null,
  actor           text not null,
  region          text not null,
  scope           text not null default 'item',
  lease_seconds   integer not null,
  granted_at      timestamptz not null,
  lease_expires_at timestamptz not null,
  released_at     timestamptz,
  -- How often the same owner took its own lapsed claim again within this attempt.
  reclaims        integer not null default 0,
  grants          integer not null default 1,
  primary key (repository_id, topic, id)
);
create index claim_live on claim (repository_id, topic, lease_expires_at) where live;

create table claim_grant (
  repository_id   bigint not null,
  topic           text not null,
  id              text not null,
  fence           bigint not null,
  owner           text not null,
  actor           text not null,
  region          text not null,
  scope           text not null,
  granted_at      timestamptz not null,
  -- False when the same owner took its lapsed claim again: custody did not change.
  new_attempt     boolean not null,
  previous_fence  bigint,
  ended           text check (ended in ('released', 'completed', 'parked', 'lapsed', 'superseded')),
  ended_at        timestamptz,
  primary key (repository_id, topic, id, fence)
);

-- Claim markers that count, once per fence. Counted is counted: never deleted.
create table claim_marker (
  repository_id   bigint not null,
  issue_number    integer not null,
  fence           bigint not null,
  comment_id      bigint not null,
  owner           text not null,
  by_app          boolean not null,
  counted_at      timestamptz not null default db_now(),
  primary key (repository_id, issue_number, fence)
);

-- ---------------------------------------------------------------- outbox: what GitHub is still to be told

create table outbox (
  repository_id   bigint not null,
  id              bigint generated always as identity,
  issue_number    integer,
  kind            text not null,
  -- The same promise is made once, however often its cause is seen.
  promise         text not null,
  payload         jsonb not null,
  state           text not null default 'pending' check (state in ('pending', 'done', 'failed')),
  attempts        integer not null default 0,
  error           text,
  created_at      timestamptz not null default db_now(),
  next_try_at     timestamptz not null default db_now(),
  finished_at     timestamptz,
  primary key (repository_id, id)
);
create unique index outbox_promise on outbox (repository_id, promise) where state = 'pending';
create index outbox_pending on outbox (repository_id, id) where state = 'pending';
create index outbox_line on outbox (repository_id, issue_number, id) where state = 'pending';
create index outbox_failed on outbox (repository_id, finished_at) where state = 'failed';

-- ---------------------------------------------------------------- local repositories become GitHub's

-- When the App is installed on a repository that so far lived only here, its records move to
-- GitHub's id. Every table with a repository id is moved, also those of later migrations.
create function adopt_repository(old_id bigint, new_id bigint) returns void language plpgsql as $$
declare
  t text;
  row_at tid;
begin
  for t in
    select c.table_name from information_schema.columns c
    join information_schema.tables b using (table_schema, table_name)
    where c.table_schema = current_schema() and c.column_name = 'repository_id' and b.table_type = 'BASE TABLE'
  loop
    begin
      execute format('update %I set repository_id = $1 where repository_id = $2', t) using new_id, old_id;
    exception when unique_violation then
      -- GitHub's repository has rows of its own (it got this name later): those stay, and ours beside them move.
      for row_at in execute format('select ctid from %I where repository_id = $1', t) using old_id loop
        begin
          execute format('update %I set repository_id = $1 where ctid = $2', t) using new_id, row_at;
        exception when unique_violation then null;
        end;
      end loop;
    end;
  end loop;
  begin
    update record_link set target_repository_id = new_id where target_repository_id = old_id;
  exception when unique_violation then null;
  end;
end $$;
