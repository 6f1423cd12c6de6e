-- A pull request in review, read and checked; who judged it, and whose work it is.
update pull_request set review_asked = '{bob,team:core}', head_at = '2026-01-05T00:00:00Z', read_at = '2026-01-05T00:00:01Z',
  read_head = head_sha, read_base = base_ref, mergeable = true, mergeable_state = 'blocked', reads = 1,
  moved_at = '2026-01-05T00:00:02Z', read_due_at = '2026-01-05T00:01:00Z', read_leased_until = '2026-01-05T00:02:00Z', check_run_id = 3387467460, check_head = head_sha,
  check_conclusion = 'failure', check_said = 'failure' where repository_id = 10 and number = 12;
insert into own_pull (repository_id, number, pull_number) values (10, 7, 12);
update item set review = 'in_review', review_pull = 12, review_waits = 'rules' where repository_id = 10 and number = 7;
update resume_block set location_fence = 41 where repository_id = 10 and number = 7;
update branch set pusher_type = 'User', by_human = true where repository_id = 10 and name = 'main';
