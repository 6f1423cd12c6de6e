-- An item that is blocked by an issue where the App is not, which is known to be open, and by one of which nothing is known.
insert into foreign_blocker (repository_id, number, target_repository_id, target, open, state_reason)
values (10, 7, 0, 'repo/acme/elsewhere/mem/backlog/issue-3', true, null);
insert into foreign_reading (repository_id, number, due_at, etag, error)
values (10, 7, '2026-01-06T00:15:00Z', '"abc"', null), (10, 5, '2026-01-06T00:15:00Z', null, 'GET …: 404 Not Found');
