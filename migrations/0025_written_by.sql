-- Every write keeps its actor (protocol 10): the API token that wrote a record last, and in the event log that of each write.

alter table record
  -- Null: Leasehold itself, from what is on GitHub.
  add column written_by text;

-- As in 0019, and keeps whose token wrote.
create or replace function write_record(
  repo bigint, p_topic text, p_id text, token bigint, p_actor text, p_region text,
  given jsonb, p_add text[], p_remove text[], p_create boolean
) returns json language plpgsql volatile as $$
declare
  refusal text;
  moment timestamptz;
  r record;
  kept text[];
  until timestamptz;
  is_new boolean;
begin
  if repo < 0 and not hold_local_repository(repo) then return json_build_object('refused', 'moved'); end if;
  refusal := pass_fence(repo, p_topic, p_id, token, p_actor, p_region);
  if refusal is not null then return json_build_object('refused', refusal); end if;
  moment := db_now();
  select kind, title, body, author, provenance, tags, expires_at into r from record
  where repository_id = repo and topic = p_topic and id = p_id and (expires_at is null or expires_at > moment);
  is_new := not found;
  if is_new and not p_create then return json_build_object('refused', 'missing'); end if;
  r.kind := coalesce(given ->> 'kind', r.kind, 'Note');
  if given ? 'title' then r.title := given ->> 'title'; end if;
  if given ? 'body' then r.body := given ->> 'body'; end if;
  if given ? 'author' then r.author := given ->> 'author'; end if;
  if given ? 'provenance' then r.provenance := given ->> 'provenance'; end if;
  until := case when given ? 'expiresAt' then (given ->> 'expiresAt')::timestamptz else r.expires_at end;
  if r.kind = 'Report' and until is not null then return json_build_object('refused', 'report_ttl'); end if;
  if until <= moment then return json_build_object('refused', 'expired'); end if;
  kept := coalesce(r.tags, '{}');
  if cardinality(p_add) + cardinality(p_remove) > 0 then
    kept := array(
      select t from (
        select t, n from unnest(kept) with ordinality k (t, n) where not t = any (p_remove)
        union all
        select t, n + cardinality(kept) from unnest(p_add) with ordinality a (t, n)) as tagged
      group by t order by min(n));
  end if;
  if is_new then
    -- What had expired under this key must not shine through.
    delete from record_link where repository_id = repo and topic = p_topic and id = p_id;
    delete from record where repository_id = repo and topic = p_topic and id = p_id;
    insert into record (repository_id, topic, id, kind, title, body, author, provenance, tags, expires_at, written_by)
    values (repo, p_topic, p_id, r.kind, r.title, r.body, r.author, r.provenance, kept, until, p_actor);
  elsif cardinality(p_add) + cardinality(p_remove) > 0 then
    update record set kind = r.kind, title = r.title, body = r.body, author = r.author, provenance = r.provenance,
      tags = kept, expires_at = until, written_by = p_actor, updated_at = db_now()
    where repository_id = repo and topic = p_topic and id = p_id;
  else
    -- Without naming the tags: their triggers need not be asked.
    update record set kind = r.kind, title = r.title, body = r.body, author = r.author, provenance = r.provenance,
      expires_at = until, written_by = p_actor, updated_at = db_now()
    where repository_id = repo and topic = p_topic and id = p_id;
  end if;
  return (
    select json_build_object('created', is_new, 'record', json_build_object(
      'topic', w.topic, 'id', w.id, 'kind', w.kind, 'title', w.title, 'body', w.body, 'author', w.author,
      'provenance', w.provenance, 'tags', w.tags, 'expiresAt', w.expires_at, 'createdAt', w.created_at,
      'updatedAt', w.updated_at, 'writtenBy', w.written_by, 'links', (
        select coalesce(json_agg(json_build_object('relation', l.relation, 'repositoryId', l.target_repository_id,
          'target', l.target) order by l.relation, l.created_at, l.target), '[]')
        from record_link l where l.repository_id = repo and l.topic = p_topic and l.id = p_id)))
    from record w where w.repository_id = repo and w.topic = p_topic and w.id = p_id);
end $$;

-- As in 0014, with the actor. Who forgets a record says so in `leasehold.actor`, for no row is left to keep it.
create or replace function on_record_event() returns trigger language plpgsql as $$
declare
  memory record := coalesce(new, old);
  writer text := case when tg_op = 'DELETE' then nullif(current_setting('leasehold.actor', true), '') else new.written_by end;
begin
  if memory.topic <> 'backlog' then
    perform log_event(memory.repository_id, case when tg_op = 'DELETE' then 'memory.forgotten' else 'memory.written' end,
      null, jsonb_build_object('topic', memory.topic, 'recordId', memory.id, 'kind', memory.kind, 'actor', writer));
  elsif item_number(memory.topic, memory.id) is not null then
    perform log_item_update(memory.repository_id, item_number(memory.topic, memory.id), 'record');
  end if;
  return null;
end $$;
