-- A write under way, one of a minute ago, and an installation that GitHub limited without naming a time.
update installation set turn = 'replica-1/turn', turn_until = '2026-01-05T00:00:30Z', next_write_at = '2026-01-05T00:00:01Z'
where id = 3387467460;
update installation set guessed_pause_seconds = 120 where id = 2;
insert into github_write (installation_id, at) values
  (3387467460, '2026-01-05T00:00:00Z'), (3387467460, '2026-01-04T23:59:00Z');
