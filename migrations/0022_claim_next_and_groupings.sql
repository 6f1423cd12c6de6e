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
      has_locks := true;
      answer := take_claim(repo, 'backlog', p_id, p_owner, p_actor, p_region, p_deployment, p_lease, 'item', false, false,
        null, p_replica, 0);
    else
      has_locks := true;
      if not lock_at_once(repo, 'backlog', p_id) then
        busy := busy || num;
        continue;
      end if;
      answer := decide_claim(repo, 'backlog', p_id, p_owner, p_actor, p_region, p_deployment, p_lease, 'item', false, false,
        null, p_replica, 0);
    end if;
    if (answer ->> 'granted')::boolean then
      return json_build_object('number', num, 'claim', answer, 'anchored',
        exists (select 1 from anchor where repository_id = repo and topic = 'backlog' and id = p_id));
    end if;
  end loop;
  return json_build_object('busy', busy);
end $$;

-- As in 0021; and the first of several items, which takes its locks itself.
create or replace function answer_at_once(what text, p jsonb) returns json language plpgsql volatile as $$
declare
  repo bigint := p ->> 0;
  p_topic text := p ->> 1;
  p_id text := p ->> 2;
begin
  if what = 'take_next' then
    return take_next(repo, (p ->> 1)::integer[], p ->> 2, p ->> 3, p ->> 4, p ->> 5, (p ->> 6)::integer, p ->> 7, true);
  end if;
  if not lock_at_once(repo, p_topic, p_id) then return null; end if;
  case what
    when 'take_claim' then
      return json_build_object(
        'claim', decide_claim(repo, p_topic, p_id, p ->> 3, p ->> 4, p ->> 5, p ->> 6, (p ->> 7)::integer, p ->> 8,
          (p ->> 9)::boolean, (p ->> 10)::boolean, (p ->> 11)::bigint, p ->> 12, (p ->> 13)::integer),
        'anchored', exists (select 1 from anchor a where a.repository_id = repo and a.topic = p_topic and a.id = p_id));
    when 'renew_claim' then
      return renew_claim(repo, p_topic, p_id, (p ->> 3)::bigint, p ->> 4, (p ->> 5)::integer);
    when 'release_claim' then
      return to_json(release_claim(repo, p_topic, p_id, (p ->> 3)::bigint, p ->> 4, p ->> 5, (p ->> 6)::boolean));
    when 'write_scalars' then
      return write_record(repo, p_topic, p_id, (p ->> 3)::bigint, p ->> 4, p ->> 5, p -> 6, '{}', '{}', (p ->> 7)::boolean);
  end case;
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
