-- How fast GitHub is written to. Its limits count for an installation, whichever process or part of us writes, so the
-- pace is kept here and not in a process.

alter table installation
  -- Whose write is under way, and when it is over at the latest: one at a time.
  add column turn          text,
  add column turn_until    timestamptz,
  -- No write begins before then.
  add column next_write_at timestamptz,
  -- How long was waited last when GitHub limited us without naming a time; doubles while that goes on.
  add column guessed_pause_seconds integer;

-- Writes of the last hour. Rows of earlier ones go when the next write begins.
create table github_write (
  installation_id bigint not null,
  id              bigint generated always as identity,
  at              timestamptz not null,
  primary key (installation_id, id)
);
create index github_write_at on github_write (installation_id, at);
