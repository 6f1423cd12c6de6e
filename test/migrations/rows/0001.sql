-- Rows as they stand after 0001_spine, at least one in every table, with what is hard to keep: null where it is
-- allowed, ids beyond int32, text of every kind, each value of a closed vocabulary.

insert into installation (id, account_id, account_login, suspended_at, removed_at, writer, writer_until, paused_until) values
  (3387467460, 3387467461, 'acme', null, null, 'replica-1', '2026-01-01T00:01:00Z', null),
  (2, null, 'umbrella', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z', null, null, '2026-01-02T00:00:00Z');

insert into repository (id, installation_id, owner, name, default_branch, html_url, installed, archived, settings,
  backfill_state, backfill_cursor, backfill_error, backfiller, backfiller_until, heard_at, current_name) values
  (10, 3387467460, 'acme', 'widgets', 'main', 'https://github.com/acme/widgets', true, false, '{"poisonThreshold": 5}',
    'done', null, null, null, null, '2026-01-04T00:00:00Z', true),
  (11, 3387467460, 'acme', 'gadgets', 'trunk', null, true, true, '{}', 'pending',
    '{"phase": "issues", "since": null, "page": 3, "after": 0}', 'GitHub did not answer', 'replica-1',
    '2026-01-04T00:01:00Z', null, true),
  (12, 2, 'acme', 'widgets', 'main', null, false, false, '{}', 'none', null, null, null, null, null, false),
  (-1, null, 'local', 'only', 'main', null, false, false, '{}', 'none', null, null, null, null, null, true);

insert into inbox (repository_id, hook_id, delivery_id, event, action, lane, payload, state, attempts, error,
  received_at, next_try_at, locked_until, finished_at) values
  (10, '1', 'aaaa', 'issues', 'opened', 'issue:7', '{"action":"opened","title":"a\u0000b"}', 'done', 1, null,
    '2026-01-04T00:00:00Z', '2026-01-04T00:00:00Z', null, '2026-01-04T00:00:01Z'),
  (10, '1', 'bbbb', 'issues', 'labeled', 'issue:7', '{"action":"labeled"}', 'pending', 2, 'GitHub did not answer',
    '2026-01-04T00:00:00Z', '2026-01-04T00:00:04Z', '2026-01-04T00:01:30Z', null),
  (0, '2', 'bbbb', 'installation', null, 'malformed:bbbb', '{"😊": "\u2028"}', 'failed', 14, 'not the documented form',
    '2026-01-04T00:00:00Z', '2026-01-04T00:00:00Z', null, '2026-01-04T01:00:00Z');

insert into issue (repository_id, number, id, node_id, title, body, state, state_reason, labels, author_id,
  author_login, author_type, author_association, via_app_id, assignees, milestone, locked, html_url, gone,
  created_at, updated_at, closed_at) values
  (10, 7, 3387467460, 'I_kw', 'It rattles 😊', E'Body\r\n\twith \u2028', 'open', null, '{backlog,"two words","quo\"te"}', 5,
    'alice', 'User', 'OWNER', null, '{alice,bob}', 'v1', false, 'https://github.com/acme/widgets/issues/7', null,
    '2026-01-04T00:00:00Z', '2026-01-04T00:00:00Z', null),
  (10, 8, 81, null, 'Gone', null, 'closed', 'not_planned', '{}', null, null, null, null, 99, '{}', null, true,
    'https://github.com/acme/widgets/issues/8', 'transferred', '2026-01-04T00:00:00Z', '2026-01-05T00:00:00Z',
    '2026-01-05T00:00:00Z'),
  (10, 2147483647, 82, null, '', '', 'closed', 'completed', '{}', null, null, null, null, null, '{}', null, false,
    'https://github.com/acme/widgets/issues/2147483647', null, '2026-01-04T00:00:00Z', '2026-01-05T00:00:00Z',
    '2026-01-05T00:00:00Z');

insert into issue_comment (repository_id, id, issue_number, body, author_id, author_login, author_type,
  author_association, via_app_id, html_url, deleted, created_at, updated_at) values
  (10, 3387467470, 7, '<!-- backlog-worker: claim item=issue-7 owner=w region=local fence=41 at=2026-01-04T00:00:00Z -->', 9,
    'leasehold[bot]', 'Bot', 'NONE', 120745, 'https://github.com/acme/widgets/issues/7#issuecomment-1', false,
    '2026-01-04T00:00:00Z', '2026-01-04T00:00:00Z'),
  (10, 3387467471, 7, '', null, null, null, null, null, null, true, '2026-01-04T00:00:00Z', '2026-01-04T00:00:00Z');

insert into label (repository_id, id, name, color, description) values
  (10, 3387467480, 'backlog', 'ededed', 'Worked off by Leasehold'), (10, 2, 'P1', null, null);

insert into pull_request (repository_id, number, id, title, body, state, draft, merged_at, merge_sha, base_ref,
  head_ref, head_sha, head_repository_id, author_id, author_login, author_type, author_association, html_url,
  created_at, updated_at, closed_at) values
  (10, 12, 3387467490, 'Mend it', 'Fixes #7', 'closed', false, '2026-01-05T00:00:00Z', 'abc', 'main', 'feat/issue-7', 'def',
    10, 5, 'alice', 'User', 'OWNER', 'https://github.com/acme/widgets/pull/12', '2026-01-04T00:00:00Z',
    '2026-01-05T00:00:00Z', '2026-01-05T00:00:00Z'),
  (10, 13, 13, 'A stub', null, 'open', true, null, null, null, null, null, null, null, null, null, null,
    'https://github.com/acme/widgets/pull/13', '2026-01-04T00:00:00Z', '2026-01-05T00:00:00Z', null);

insert into pull_request_closes (repository_id, pull_number, issue_number) values (10, 12, 7), (10, 12, 8);

insert into pull_request_review (repository_id, id, pull_number, reviewer_id, reviewer_login, state, commit_sha, submitted_at) values
  (10, 3387467500, 12, 6, 'bob', 'approved', 'def', '2026-01-05T00:00:00Z'),
  (10, 2, 12, null, null, 'dismissed', null, null);

insert into check_suite (repository_id, id, head_sha, head_branch, app_slug, status, conclusion, updated_at) values
  (10, 3387467510, 'def', 'feat/issue-7', 'ci', 'completed', 'success', '2026-01-05T00:00:00Z'),
  (10, 2, 'abc', null, null, null, null, '2026-01-05T00:00:00Z');

insert into branch (repository_id, name, head_sha, pusher_id, pusher_login, pushed_at) values
  (10, 'main', 'abc', 5, 'alice', '2026-01-05T00:00:00Z'), (10, 'gone/branch', null, null, null, '2026-01-05T00:00:00Z');

insert into record (repository_id, topic, id, kind, title, body, author, provenance, tags, expires_at, created_at, updated_at) values
  (10, 'backlog', 'issue-7', 'Note', null, null, null, null,
    '{backlog,priority:P1,phase:implementation,homeRegion:local,baseBranch:main,state:complete,pr:12}', null,
    '2026-01-04T00:00:00Z', '2026-01-05T00:00:00Z'),
  (10, 'backlog', 'issue-8', 'Note', null, null, null, null,
    '{backlog,priority:P2,phase:research,homeRegion:local,baseBranch:main}', null, '2026-01-04T00:00:00Z', '2026-01-05T00:00:00Z'),
  (10, 'decisions', 'use-postgres', 'Decision', 'Use PostgreSQL', E'Because …\n😊', 'alice', 'a meeting', '{"two words"}', null,
    '2026-01-04T00:00:00Z', '2026-01-05T00:00:00Z'),
  (10, 'notes', 'lapsing', 'Gotcha', '', '', '', '', '{}', '2026-02-01T00:00:00Z', '2026-01-04T00:00:00Z', '2026-01-05T00:00:00Z'),
  (-1, 'notes', 'local', 'Report', null, null, null, null, '{}', null, '2026-01-04T00:00:00Z', '2026-01-05T00:00:00Z');

insert into record_link (repository_id, topic, id, relation, target_repository_id, target, created_at) values
  (10, 'backlog', 'issue-8', 'blockedBy', 10, 'mem/backlog/issue-7', '2026-01-04T00:00:00Z'),
  (10, 'backlog', 'issue-8', 'anchoredTo', 10, 'file/src/a b.ts', '2026-01-04T00:00:00Z'),
  (10, 'decisions', 'use-postgres', 'related', 0, 'repo/elsewhere/gadgets/mem/notes/a', '2026-01-04T00:00:00Z'),
  (10, 'decisions', 'use-postgres', 'haunts', -1, 'mem/notes/local', '2026-01-04T00:00:00Z');

insert into item (repository_id, number, enrolled, admitted, admitted_by, admission_at, state, state_at, state_by,
  state_event_at, attempts_after, park_reason, ruling_owner, question, created_at) values
  (10, 7, true, true, 'alice', '2026-01-04T00:00:00Z', 'complete', '2026-01-05T00:00:00Z', 'alice', '2026-01-05T00:00:00Z',
    0, null, null, null, '2026-01-04T00:00:00Z'),
  (10, 8, false, false, null, '2026-01-04T00:00:00Z', 'cancelled', '2026-01-05T00:00:00Z', null, null, 41, null, null, null,
    '2026-01-04T00:00:00Z'),
  (10, 2147483647, true, false, null, '2026-01-04T00:00:00Z', 'parked', '2026-01-05T00:00:00Z', 'leasehold', null, 0,
    '3 attempts', 'alice', 'Is it worth it?', '2026-01-04T00:00:00Z'),
  (11, 1, true, true, null, '2026-01-04T00:00:00Z', null, null, null, null, 0, null, null, null, '2026-01-04T00:00:00Z');

insert into incident (repository_id, number, code, value, detail, since) values
  (10, 7, 'wrong_base', 'feature-x', 'merged elsewhere', '2026-01-05T00:00:00Z');

insert into claim (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at,
  lease_expires_at, released_at, reclaims, grants) values
  (10, 'backlog', 'issue-7', 42, false, 'worker/7f3a', 'admin', 'local', 'item', 900, '2026-01-04T00:00:00Z',
    '2026-01-04T00:15:00Z', '2026-01-05T00:00:00Z', 0, 2),
  (10, 'locks', 'never-a-record', 1767484800000, true, 'w', 'admin', 'local', 'item', 30, '2026-01-04T00:00:00Z',
    '2026-01-04T00:00:30Z', null, 1, 1);

insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt,
  previous_fence, ended, ended_at) values
  (10, 'backlog', 'issue-7', 41, 'worker/7f3a', 'admin', 'local', 'item', '2026-01-04T00:00:00Z', true, null, 'lapsed', '2026-01-04T00:15:00Z'),
  (10, 'backlog', 'issue-7', 42, 'worker/7f3a', 'admin', 'local', 'item', '2026-01-04T00:15:00Z', false, 41, 'completed', '2026-01-05T00:00:00Z'),
  (10, 'backlog', 'issue-8', 43, 'w', 'admin', 'local', 'item', '2026-01-04T00:15:00Z', true, null, 'parked', '2026-01-05T00:00:00Z'),
  (10, 'backlog', 'issue-9', 44, 'w', 'admin', 'local', 'item', '2026-01-04T00:15:00Z', true, null, 'superseded', '2026-01-05T00:00:00Z'),
  (10, 'backlog', 'issue-9', 45, 'w', 'admin', 'local', 'item', '2026-01-04T00:15:00Z', true, 44, 'released', '2026-01-05T00:00:00Z'),
  (10, 'locks', 'never-a-record', 1767484800000, 'w', 'admin', 'local', 'item', '2026-01-04T00:00:00Z', true, null, null, null);

insert into claim_marker (repository_id, issue_number, fence, comment_id, owner, by_app, counted_at) values
  (10, 7, 41, 3387467470, 'worker/7f3a', true, '2026-01-04T00:00:00Z'),
  (10, 8, 43, 2, 'w', false, '2026-01-04T00:00:00Z');

insert into outbox (repository_id, issue_number, kind, promise, payload, state, attempts, error, created_at,
  next_try_at, finished_at) values
  (10, 7, 'comment', 'claim:42', '{"kind": "comment", "body": "😊"}', 'pending', 1, 'GitHub did not answer',
    '2026-01-04T00:00:00Z', '2026-01-04T00:00:00Z', null),
  (10, null, 'create_label', 'define:stale', '{"kind": "create_label", "name": "stale"}', 'done', 1, null,
    '2026-01-04T00:00:00Z', '2026-01-04T00:00:00Z', '2026-01-04T00:00:01Z'),
  (10, 7, 'close_issue', 'close:7', '{"kind": "close_issue", "reason": "completed"}', 'failed', 40, 'archived',
    '2026-01-04T00:00:00Z', '2026-01-04T00:00:00Z', '2026-01-05T00:00:00Z');

select setval('fence', 45);
