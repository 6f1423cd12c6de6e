-- Holding items back, working below an epic's claim, and what every item went through (protocol 9).

-- An orchestrator's hold: out of the ready set until `resume`, which anybody with the right may call.
alter table item add column hold_at timestamptz;
alter table item add column hold_by text;
alter table item add column hold_note text;
-- The epic's token under which somebody works on it. It means nothing once that claim has ended: no role is a flag
-- that a dead caller leaves set.
alter table item add column started_under bigint;

-- Every change of role that was not a claim's; those are in claim_grant.
create table transition (
  repository_id   bigint not null,
  number          integer not null,
  id              bigint generated always as identity,
  trigger         text not null,
  actor           text not null,
  from_role       text not null,
  to_role         text not null,
  summary         text,
  fence           bigint,
  at              timestamptz not null default db_now(),
  primary key (repository_id, number, id)
);
