-- A token for everything, one for a part of two backlogs, one that ended.
insert into api_token (id, hash, name, capabilities, every_repository, rooted, tags, github_login, created_by,
  created_at, expires_at, revoked_at, revoked_by, last_used_at) values
  ('00000000-0000-4000-8000-000000000001', decode(repeat('01', 32), 'hex'), 'all 😊', '{admin}', true, false, null, null,
    'admin', '2026-01-06T00:00:00Z', null, null, null, null),
  ('00000000-0000-4000-8000-000000000002', decode(repeat('02', 32), 'hex'), 'red team', '{read,claim}', false, true,
    '{team:red}', 'alice', 'admin', '2026-01-06T00:00:00Z', '2027-01-06T00:00:00Z', null, null, '2026-01-06T00:01:00Z'),
  ('00000000-0000-4000-8000-000000000003', decode(repeat('03', 32), 'hex'), 'gone', '{}', false, false, null, null,
    'token/00000000-0000-4000-8000-000000000001', '2026-01-06T00:00:00Z', null, '2026-01-07T00:00:00Z', 'admin', null);
insert into api_token_repository (repository_id, token_id) values
  (10, '00000000-0000-4000-8000-000000000002'), (-1, '00000000-0000-4000-8000-000000000002');
insert into api_token_root (repository_id, number, token_id) values
  (10, 7, '00000000-0000-4000-8000-000000000002'), (10, 2147483647, '00000000-0000-4000-8000-000000000002');
