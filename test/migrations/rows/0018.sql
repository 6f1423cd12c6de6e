insert into sweep_seen (repository_id, kind, id) values (10, 'issue', 7);
update delivery_audit set covered_from = '2026-09-06 00:00:00Z', covered_to = '2026-09-06 01:00:00Z', last_id = 77,
  last_at = '2026-09-06 00:59:00Z', doubt = null, link_events = false, link_events_at = '2026-09-06 00:00:00Z', auditor = 'replica/1', auditor_until = '2026-09-06 01:01:00Z';
insert into missed_delivery (repository_id, guid, delivery_id, installation_id, event, tries) values
  (10, '0b9f1c1e-0000-4000-8000-000000000001', 78, 5, 'issues', 2);
