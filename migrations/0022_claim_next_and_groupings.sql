-- claim-next in one call: it goes through the candidates where they are judged.

-- Claims the first of these items that is to be had, and passes over what is held or refused. What somebody else decides
-- on at the moment is passed over, too: many callers go through the same candidates, and none waits for another. Answers
-- the item and its claim; or `from`, where deciding may wait for more locks than these and others are held already: the
-- caller asks again from there; or the items that were `busy`. With `p_many`, in a transaction of many, null at such an
-- item: who waits for nobody asks for it alone (`lock_at_once`).
create function take_next(
  repo bigint, p_numbers integer[], p_owner text, p_actor text, p_region text, p_deployment text, p_lease integer,
  p_replica text, p_many boolean
) returns json language plpgsql volatile as $$
declare
  num integer;
  p_id text;
  f record;
  busy integer[] := '{}';
  has_locks boolean := false;
  answer json;
begin
  foreach num in array p_numbers loop
    p_id := 'issue-' || num;
    select c.live and c.lease_expires_at > db_now() as held,
      i.integrates is not null or i.resource_keys is not null or i.review is not null or coalesce(c.resourced, false) as more
    into f
    from item i left join claim c on c.repository_id = repo and c.topic = 'backlog' and c.id = p_id
    where i.repository_id = repo and i.number = num;
    continue when not found or f.held;
    if f.more then
      if p_many then return null; end if;
      if has_locks then return json_build_object('from', num, 'busy', busy); end if;
    elsif not lock_at_once(repo, 'backlog', p_id) then
      busy := busy || num;
      has_locks := true;
      continue;
    end if;
    has_locks := true;
    answer := take_claim(repo, 'backlog', p_id, p_owner, p_actor, p_region, p_deployment, p_lease, 'item', false, false,
      null, p_replica, 0);
    if (answer ->> 'granted')::boolean then
      return json_build_object('number', num, 'claim', answer, 'anchored',
        exists (select 1 from anchor where repository_id = repo and topic = 'backlog' and id = p_id));
    end if;
  end loop;
  return json_build_object('busy', busy);
end $$;

-- As in 0021; and the first of several items.
create or replace function answer_at_once(what text[], p jsonb[]) returns json[] language plpgsql volatile
set lock_timeout = '100ms' as $$
declare
  answers json[] := '{}';
  given new_grant[] := '{}';
  ended_ claim_end[] := '{}';
  -- Records that these are about.
  changed text[] := '{}';
  q jsonb;
  key text;
  repo bigint;
  p_topic text;
  p_id text;
  answer json;
  c claim_decision;
  r release_decision;
begin
  for n in 1 .. cardinality(what) loop
    q := p[n];
    repo := q ->> 0;
    p_topic := q ->> 1;
    p_id := q ->> 2;
    if what[n] = 'take_next' then
      -- It goes through what the others may have been granted, and takes its locks itself.
      perform write_grants(given);
      perform write_releases(ended_);
      given := '{}';
      ended_ := '{}';
      changed := '{}';
      answers := array_append(answers, take_next(repo, (q ->> 1)::integer[], q ->> 2, q ->> 3, q ->> 4, q ->> 5,
        (q ->> 6)::integer, q ->> 7, true));
      continue;
    end if;
    key := repo || '/' || p_topic || '/' || p_id;
    -- Whoever comes second sees what the first one did.
    if key = any (changed) then
      perform write_grants(given);
      perform write_releases(ended_);
      given := '{}';
      ended_ := '{}';
      changed := '{}';
    end if;
    answer := null;
    if lock_at_once(repo, p_topic, p_id) then
      case what[n]
        when 'take_claim' then
          c := decide_claim(repo, p_topic, p_id, q ->> 3, q ->> 4, q ->> 5, q ->> 6, (q ->> 7)::integer, q ->> 8,
            (q ->> 9)::boolean, (q ->> 10)::boolean, (q ->> 11)::bigint, q ->> 12, (q ->> 13)::integer);
          answer := json_build_object('claim', c.answer, 'anchored', (c.given).fence is not null
            and exists (select 1 from anchor a where a.repository_id = repo and a.topic = p_topic and a.id = p_id));
          if (c.given).fence is not null then
            given := array_append(given, c.given);
            changed := array_append(changed, key);
          end if;
        when 'release_claim' then
          r := decide_release(repo, p_topic, p_id, (q ->> 3)::bigint, q ->> 4, q ->> 5, (q ->> 6)::boolean);
          answer := to_json(r.answer);
          if (r.ended).fence is not null then
            ended_ := array_append(ended_, r.ended);
            changed := array_append(changed, key);
          end if;
        when 'renew_claim' then
          answer := renew_claim(repo, p_topic, p_id, (q ->> 3)::bigint, q ->> 4, (q ->> 5)::integer);
        when 'write_scalars' then
          answer := write_record(repo, p_topic, p_id, (q ->> 3)::bigint, q ->> 4, q ->> 5, q -> 6, '{}', '{}',
            (q ->> 7)::boolean);
      end case;
    end if;
    answers := array_append(answers, answer);
  end loop;
  perform write_grants(given);
  perform write_releases(ended_);
  return answers;
end $$;

-- ---------------------------------------------------------------- half-made groupings

-- A grouping that was begun is finished without being asked for again (services/continue-groupings.ts).
alter table authoring
  -- What who asked may see; null: begun before this was kept, and finished only by asking again.
  add column view               jsonb,
  -- With the request's key it finds the answer; null as above.
  add column answer_fingerprint text,
  -- How often it was gone on with unasked, and when it is next.
  add column tries              integer not null default 0,
  add column next_try_at        timestamptz not null default db_now() + interval '1 minute';
create index authoring_due on authoring (next_try_at) where kind = 'grouping' and view is not null;
