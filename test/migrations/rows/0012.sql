-- A defect that was found, and an item that is to be looked at again.
insert into defect (repository_id, number, code, value, detail, since) values
  (10, 7, 'missing_tag', 'phase:', 'a phase: tag is missing; add exactly one', '2026-01-06T00:00:00Z');
insert into item_check (repository_id, number, asked_at) values (10, 9, '2026-01-06T00:00:00Z');
