-- An event that was numbered, and one that waits for its number. Both besides those that the triggers write.
insert into event (repository_id, id, type, number, data, at) values
  (10, 1796058924286153, 'item.claimed', 7, '{"owner": "worker/7f3a", "fencingToken": 41}', '2026-01-06T00:00:00Z');
insert into event_new (repository_id, type, number, data, at) values
  (10, 'memory.written', null, '{"topic": "decisions", "recordId": "use-leases", "kind": "Decision"}', '2026-01-06T00:00:01Z');
