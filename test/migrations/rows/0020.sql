-- An item that was parked, and is at its new place.
insert into moved_issue (repository_id, number, to_repository_id, to_number, parked, park_reason, ruling_owner, question, inherited_at)
values (10, 5, 11, 2, true, 'three attempts', 'alice', 'Which of both?', '2026-01-06T00:00:00Z');
