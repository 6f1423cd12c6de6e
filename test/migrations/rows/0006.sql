-- Repository 10 and 11 have theirs by the migration itself; one more, whose file is invalid and holds back.
insert into configuration (repository_id, known, version, problems, held) values
  (12, true, 9007199254740991, '{"line 3, column 1: agnets: unknown key; did you mean agents?"}', '{"`agents` still lists worker-1"}');
