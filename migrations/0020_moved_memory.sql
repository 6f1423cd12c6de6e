-- A transferred item moves with its memory (protocol 1), and a transfer does not unpark: whether it was parked at its old
-- place, before the tombstone there was cancelled, and why.
alter table moved_issue
  add column parked       boolean not null default false,
  add column park_reason  text,
  add column ruling_owner text,
  add column question     text,
  -- Null: the item at the new place has not taken that over. Once only: what a human does there later stands.
  add column inherited_at timestamptz;
create index moved_issue_to on moved_issue (to_repository_id, to_number);
