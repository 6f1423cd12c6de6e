-- An item on hold, and what it went through.
update item set hold_at = '2026-01-05T00:00:00Z', hold_by = 'orchestrator', hold_note = 'waits for the design',
  started_under = 42 where repository_id = 10 and number = 7;

insert into transition (repository_id, number, trigger, actor, from_role, to_role, summary, fence, at) values
  (10, 7, 'hold', 'orchestrator', 'work', 'blocked', 'waits for the design', 41, '2026-01-05T00:00:00Z');
