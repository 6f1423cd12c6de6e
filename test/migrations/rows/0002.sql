-- Processes that run, and those that wait for a record.
insert into replica (id, alive_until) values
  ('5b1c0f4e-0000-4000-8000-000000000001', '2026-01-04T00:00:04Z'),
  ('5b1c0f4e-0000-4000-8000-000000000002', '2099-01-01T00:00:00Z');

insert into claim_waiter (repository_id, topic, id, replica, scope, queued_at) values
  (10, 'backlog', 'issue-7', '5b1c0f4e-0000-4000-8000-000000000001', 'item', '2026-01-04T00:00:00Z'),
  (10, 'backlog', 'issue-9', '5b1c0f4e-0000-4000-8000-000000000002', 'subtree', '2026-01-04T00:00:01Z'),
  (10, 'locks', 'never-a-record', '5b1c0f4e-0000-4000-8000-000000000002', 'item', '2026-01-04T00:00:02Z');
