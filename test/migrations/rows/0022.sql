insert into authoring (repository_id, id, kind, actor, request_key, fingerprint, branch, request, view, answer_fingerprint)
values (10, '00000000-0000-4000-8000-000000000022', 'grouping', 'admin', 'body:22', 'f22', 'feat/epic/g22', '{}',
  '{"repositories": null, "scope": null}', 'f22');
