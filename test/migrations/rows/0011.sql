-- A proposal whose answer was lost, and a grouping half way.
insert into authoring (repository_id, id, kind, actor, request_key, fingerprint, branch, request, worker, worker_until) values
  (10, '6f1c5c1e-0000-4000-8000-000000000001', 'item', 'admin', 'body:abc', 'abc', null, '{"title": "x"}', null, null),
  (10, '6f1c5c1e-0000-4000-8000-000000000002', 'grouping', 'admin', '6f1c5c1e-0000-4000-8000-00000000000a', 'def',
   'feat/epic/pipes', '{"epic": {}}', 'replica/1', '2026-01-05T00:00:00Z');

insert into authored_issue (repository_id, authoring_id, ref, mark, tried_at, number) values
  (10, '6f1c5c1e-0000-4000-8000-000000000001', '', '6f1c5c1e-0000-4000-8000-000000000011', '2026-01-05T00:00:00Z', null),
  (10, '6f1c5c1e-0000-4000-8000-000000000002', '', '6f1c5c1e-0000-4000-8000-000000000012', '2026-01-05T00:00:00Z', 7),
  (10, '6f1c5c1e-0000-4000-8000-000000000002', 'seam', '6f1c5c1e-0000-4000-8000-000000000013', null, null);
