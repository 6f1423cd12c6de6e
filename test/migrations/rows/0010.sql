-- A file that changed since it was anchored, one that nobody has read yet, and a file of another repository.
insert into record_link (repository_id, topic, id, relation, target_repository_id, target, created_at) values
  (10, 'backlog', 'issue-7', 'anchoredTo', 10, 'file/src/**/*.ts', '2026-01-06T00:00:00Z'),
  (10, 'decisions', 'use-postgres', 'anchoredTo', 11, 'file/README.md', '2026-01-06T00:00:00Z');

update anchor set captured = 'set:aa', current = 'set:bb', since_sha = 'abc', read_at = '2026-01-06T00:00:00Z',
  drifted_at = '2026-01-06T00:00:00Z' where repository_id = 10 and id = 'issue-7';

insert into anchored_branch (repository_id, name, seen_sha, wanted, done, read_at, reader, reader_until) values
  (10, 'main', 'def', 3, 2, '2026-01-06T00:00:00Z', 'replica/1', '2026-01-06T00:15:00Z'),
  (11, 'feat/epic/x', null, 0, 0, null, null, null);
