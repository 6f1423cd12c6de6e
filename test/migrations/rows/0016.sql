-- A resource that was held and released, and one that is held under a claim.
insert into resource_lease (repository_id, number, account, key, fence, actor, acquired_at, expires_at, ended, ended_at, ended_by) values
  (10, 7, '#500', 'staging-db', 41, 'admin', '2026-01-06T00:00:00Z', '2026-01-06T01:00:00Z', 'forced', '2026-01-06T00:30:00Z', 'admin'),
  (10, 9, '#500', 'staging-db', 42, 'admin', '2026-01-06T00:40:00Z', '2026-01-06T01:40:00Z', null, null, null);
