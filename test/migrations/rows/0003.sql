-- What one worker left for the next, and an answer kept for who asks twice.
insert into resume_block (repository_id, number, branch, pull_number, sha, note, fence, owner, written_at) values
  (10, 7, 'feat/issue-7', 12, '0123456789abcdef0123456789abcdef01234567', 'The parser is done; the printer is left.', 41, 'worker/7f3a', '2026-01-04T00:00:00Z'),
  (10, 9, null, null, null, null, 42, 'worker/7f3a', '2026-01-04T00:00:01Z');

insert into changed_path (repository_id, number, path, seen_at) values
  (10, 7, 'src/parser.ts', '2026-01-04T00:00:00Z');

insert into kept_answer (actor, key, fingerprint, status, body, repository_id, topic, id, fence, kept_until) values
  ('admin', '5b1c0f4e-0000-4000-8000-00000000000a', 'aa', 200, '{"granted":true}', 10, 'backlog', 'issue-7', 41, '2026-01-05T00:00:00Z'),
  ('admin', '5b1c0f4e-0000-4000-8000-00000000000b', 'bb', 201, '{"exists":true}', null, null, null, null, '2026-01-05T00:00:00Z');
