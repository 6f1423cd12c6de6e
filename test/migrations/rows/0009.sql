-- Links of GitHub's own: one that is there, one of both kinds, one that was taken away, one into the unknown.
insert into native_link (repository_id, number, relation, target_repository_id, target, target_id, present, said_at, end_at) values
  (10, 70, 'partOf', 10, 'mem/backlog/issue-7', 3387467460, true, '2026-01-06T00:00:00Z', '2026-01-06T00:00:00Z'),
  (10, 70, 'blockedBy', 10, 'mem/backlog/issue-7', 3387467460, true, '2026-01-06T00:00:00Z', '2026-01-06T00:00:00Z'),
  (10, 70, 'blockedBy', 10, 'mem/backlog/issue-9', 3387467461, false, '2026-01-06T00:00:00Z', '2026-01-05T00:00:00Z'),
  (10, 70, 'blockedBy', 0, 'repo/elsewhere/gadgets/mem/backlog/issue-3', null, true, '2026-01-06T00:00:00Z', '2026-01-06T00:00:00Z');

insert into moved_issue (repository_id, number, to_repository_id, to_number) values (10, 6, 11, 1);

insert into cycle_member (repository_id, number, relation, cycle, place, since) values
  (10, 71, 'blockedBy', 'd41d8cd98f00b204e9800998ecf8427e', 0, '2026-01-06T00:00:00Z'),
  (10, 70, 'blockedBy', 'd41d8cd98f00b204e9800998ecf8427e', 1, '2026-01-06T00:00:00Z');
