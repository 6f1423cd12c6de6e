-- What one worker leaves for the next, and what a caller may ask for twice.

-- The resume block of an item (protocol 2): written only under a live claim's token; trustworthy as to author, which
-- is why owner and token are kept with it, advisory as to content.
create table resume_block (
  repository_id   bigint not null,
  number          integer not null,
  branch          text,
  pull_number     integer,
  sha             text,
  note            text,
  fence           bigint not null,
  owner           text not null,
  written_at      timestamptz not null default db_now(),
  primary key (repository_id, number)
);
-- A pull request recorded here is the item's own (protocol 8), and a push to the branch is work on it.
create index resume_block_by_pull on resume_block (repository_id, pull_number) where pull_number is not null;
create index resume_block_by_branch on resume_block (repository_id, branch) where branch is not null;

-- Paths that pushes to an item's working branch changed, for whoever takes the work over.
create table changed_path (
  repository_id   bigint not null,
  number          integer not null,
  path            text not null,
  seen_at         timestamptz not null default db_now(),
  primary key (repository_id, number, path)
);

-- Answers kept for a day under the caller's idempotency key, written in the transaction of their effect. A key
-- belongs to its caller, not to a repository: sent to another repository it must be found, and refused.
create table kept_answer (
  actor           text not null,
  key             uuid not null,
  -- Of the method, the path and the body.
  fingerprint     text not null,
  status          smallint not null,
  body            text not null,
  -- The grant that the answer tells of, if it is one.
  repository_id   bigint,
  topic           text,
  id              text,
  fence           bigint,
  kept_until      timestamptz not null,
  primary key (actor, key)
);
create index kept_answer_by_end on kept_answer (kept_until);
create index kept_answer_by_grant on kept_answer (repository_id, topic, id, fence) where fence is not null;
