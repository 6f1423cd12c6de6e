-- An item whose own pull request was opened, and closed.
insert into own_pull_span (repository_id, number, at, open) values
  (10, 7, '2026-01-06T00:00:00Z', true),
  (10, 7, '2026-01-07T00:00:00Z', false);
