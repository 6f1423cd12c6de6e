-- Fewer calls and fewer commits: a fenced write is one call, and what many ask at once is one transaction.

-- ---------------------------------------------------------------- the fence

-- Whether a write passes the fence; null: it does. It repeats decideWrite (domain/fence.ts), and a property test shows
-- that both always agree. `mark` null: the record was never claimed.
create function judge_write(
  mark bigint, live boolean, holder text, held_in text, token bigint, p_actor text, p_region text
) returns text language plpgsql immutable as $$
begin
  if mark is null then return null; end if;
  if token is null then return case when live then 'claim_required' end; end if;
  if token < mark then return 'stale_token'; end if;
  if token > mark then return 'unissued_token'; end if;
  if not live then return 'claim_released'; end if;
  if p_actor <> holder then return 'not_holder'; end if;
  if p_region <> held_in then return 'foreign_region'; end if;
  return null;
end $$;

-- Takes a record's lock and answers why the write may not be; null: it may. The token of a subtree claim above an item
-- admits it too, unless it is below the item's own mark (`admitsBelow` in domain/fence.ts).
create function pass_fence(
  repo bigint, p_topic text, p_id text, token bigint, p_actor text, p_region text
) returns text language plpgsql volatile as $$
declare
  c record;
  e record;
  refusal text;
  num integer;
begin
  perform pg_advisory_xact_lock(hashtextextended(repo || '/' || p_topic || '/' || p_id, 7203));
  select fence, live, actor, region into c from claim where repository_id = repo and topic = p_topic and id = p_id;
  refusal := judge_write(c.fence, c.live, c.actor, c.region, token, p_actor, p_region);
  num := item_number(p_topic, p_id);
  if refusal is null or token is null or num is null then return refusal; end if;
  select k.fence, k.live, k.actor, k.region into e
  from item i join claim k on k.repository_id = repo and k.topic = 'backlog'
    and k.id = any (select 'issue-' || x from unnest(i.ancestors) x)
  where i.repository_id = repo and i.number = num and k.scope = 'subtree' and k.live and k.fence = token;
  if e.fence is not null and token >= coalesce(c.fence, 0)
     and judge_write(e.fence, e.live, e.actor, e.region, token, p_actor, p_region) is null then
    return null;
  end if;
  return refusal;
end $$;

-- Writes a record under the fence, in one call: it is made if `p_create` and it is absent, else `given` replaces, and
-- tags are added and removed. Links are written by the services, which know what an edge may be. Answers the record, or
-- why nothing was written: a refusal of the fence, `moved`, `missing`, `expired` (it would be at once), `report_ttl`.
create function write_record(
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
    insert into record (repository_id, topic, id, kind, title, body, author, provenance, tags, expires_at)
    values (repo, p_topic, p_id, r.kind, r.title, r.body, r.author, r.provenance, kept, until);
  elsif cardinality(p_add) + cardinality(p_remove) > 0 then
    update record set kind = r.kind, title = r.title, body = r.body, author = r.author, provenance = r.provenance,
      tags = kept, expires_at = until, updated_at = db_now()
    where repository_id = repo and topic = p_topic and id = p_id;
  else
    -- Without naming the tags: their triggers need not be asked.
    update record set kind = r.kind, title = r.title, body = r.body, author = r.author, provenance = r.provenance,
      expires_at = until, updated_at = db_now()
    where repository_id = repo and topic = p_topic and id = p_id;
  end if;
  return (
    select json_build_object('created', is_new, 'record', json_build_object(
      'topic', w.topic, 'id', w.id, 'kind', w.kind, 'title', w.title, 'body', w.body, 'author', w.author,
      'provenance', w.provenance, 'tags', w.tags, 'expiresAt', w.expires_at, 'createdAt', w.created_at,
      'updatedAt', w.updated_at, 'links', (
        select coalesce(json_agg(json_build_object('relation', l.relation, 'repositoryId', l.target_repository_id,
          'target', l.target) order by l.relation, l.created_at, l.target), '[]')
        from record_link l where l.repository_id = repo and l.topic = p_topic and l.id = p_id)))
    from record w where w.repository_id = repo and w.topic = p_topic and w.id = p_id);
end $$;

-- ---------------------------------------------------------------- the ready set

-- The least threshold in force is asked for by every ready set, and few epics set one.
create index item_threshold on item (repository_id, threshold) where threshold is not null;
-- What nothing but a person's hand moves: whether anything starves is told by the first of these.
create index item_stuck on item (repository_id, number)
  where enrolled and state is null and (not issue_open or hold_at is not null or flawed);
-- What claim-next asks by age.
create index item_offered_by_age on item (repository_id, created_at, number) include (home_region) where offered;

-- ---------------------------------------------------------------- what is kept, for less

-- As in 0002; PostgreSQL plans a function in SQL anew at each call.
create or replace function blocker_satisfied(repo bigint, target text) returns boolean language plpgsql stable as $$
begin
  return coalesce((
    select case when i.number is null
             then s.gone is null and s.state = 'closed' and coalesce(s.state_reason, 'completed') = 'completed'
             else i.state = 'complete' and (select count(*) from record r, unnest(r.tags) t
                    where r.repository_id = repo and r.topic = 'backlog' and r.id = 'issue-' || s.number
                      and t like 'state:%') = 1 end
    from issue s left join item i on i.repository_id = s.repository_id and i.number = s.number
    where s.repository_id = repo and s.number = target_number(target)), false);
end $$;

-- What waits for an item counts its open blockers anew, and nothing else of it changes. All rows are locked first, in one
-- order, in a statement of its own: the counting one sees what was committed meanwhile, and two that complete at once do
-- not lock each other out.
create or replace function refresh_dependents(repo bigint, num integer) returns void language plpgsql volatile as $$
begin
  perform 1 from item i
  where (i.repository_id, i.number) in (select l.repository_id, l.number from record_link l
    where l.target_repository_id = repo and l.target_number = num and l.relation = 'blockedBy')
  order by i.repository_id, i.number for update;
  if not found then return; end if;
  update item i set open_blockers = anew.open
  from (
    select d.repository_id, d.number, count(*) filter (where not blocker_satisfied(b.target_repository_id, b.target)) as open
    from (select distinct l.repository_id, l.number from record_link l
        where l.target_repository_id = repo and l.target_number = num and l.relation = 'blockedBy'
          and l.number is not null) d
    join record_link b on b.repository_id = d.repository_id and b.number = d.number and b.relation = 'blockedBy'
    group by 1, 2) anew
  where i.repository_id = anew.repository_id and i.number = anew.number and i.open_blockers <> anew.open;
end $$;

-- ---------------------------------------------------------------- many at once

-- Takes the locks that deciding on a record needs, if all are to be had at once: ancestors shared, then the record. Who
-- decides on many records in one transaction waits for none of them, so that no two can wait for each other. False also
-- where deciding may lock more than these: an integration item its epic, an item with resources those, one with a pull
-- request the promise of its check, a record of a repository that lives only here that repository.
create function lock_at_once(repo bigint, p_topic text, p_id text) returns boolean language plpgsql volatile as $$
declare
  num integer := item_number(p_topic, p_id);
  f record;
  above integer;
begin
  if repo < 0 then return false; end if;
  if num is not null then
    select ancestors, integrates is not null or resource_keys is not null or review is not null as more into f
    from item where repository_id = repo and number = num;
    if f.more then return false; end if;
    if cardinality(f.ancestors) > 0 then
      foreach above in array f.ancestors loop
        if not pg_try_advisory_xact_lock_shared(hashtextextended(repo || '/backlog/issue-' || above, 7203)) then
          return false;
        end if;
      end loop;
    end if;
  end if;
  return pg_try_advisory_xact_lock(hashtextextended(repo || '/' || p_topic || '/' || p_id, 7203))
    and not exists (select 1 from claim where repository_id = repo and topic = p_topic and id = p_id and resourced);
end $$;

-- ---------------------------------------------------------------- claims and releases, for less

-- As in 0008; most items have no pull request, and end with that.
create or replace function on_claim_grant() returns trigger language plpgsql as $$
declare
  num integer := item_number(new.topic, new.id);
  part integer;
begin
  if num is null then return null; end if;
  if exists (select 1 from own_pull where repository_id = new.repository_id and number = num) then
    perform ask_claim_checks_of(new.repository_id, num);
  end if;
  if new.scope = 'subtree' then
    for part in select d from descendants_of(new.repository_id, num) d order by 1 loop
      perform ask_claim_checks_of(new.repository_id, part);
    end loop;
  end if;
  return null;
end $$;

-- As in 0008; attempts are counted only where there may be enough of them.
create or replace function release_claim(
  repo bigint, p_topic text, p_id text, p_fence bigint, p_actor text, p_note text, p_parks boolean
) returns text language plpgsql volatile as $$
declare
  num integer := item_number(p_topic, p_id);
  moment timestamptz;
  c record;
  i record;
begin
  if repo < 0 and not hold_local_repository(repo) then return 'moved'; end if;
  perform pg_advisory_xact_lock(hashtextextended(repo || '/' || p_topic || '/' || p_id, 7203));
  moment := db_now();
  select fence, live, actor, owner into c from claim where repository_id = repo and topic = p_topic and id = p_id;
  if not found then
    return case when exists (select 1 from record where repository_id = repo and topic = p_topic and id = p_id
      and (expires_at is null or expires_at > moment)) then 'unclaimed' else 'missing' end;
  end if;
  if c.fence <> p_fence then return 'stale'; end if;
  if not c.live then return 'unclaimed'; end if;
  if c.actor <> p_actor then return 'not_holder'; end if;
  if num is not null then
    select n.state, r.installation_id is not null as markable, n.marked, n.attempts_after,
      n.state is null and n.review is distinct from 'in_review' as poisoned,
      coalesce(n.threshold, (r.settings ->> 'poisonThreshold')::integer, 3) as threshold
    into i
    from item n join repository r on r.id = repo
    where n.repository_id = repo and n.number = num;
    -- Without a marker there are no more attempts than grants.
    if i.poisoned then
      i.poisoned := (i.marked or i.threshold <= (select count(*) from (select 1 from claim_grant
          where repository_id = repo and topic = p_topic and id = p_id limit i.threshold) as few))
        and attempts_of(repo, num, i.attempts_after) >= i.threshold;
    end if;
    if i.poisoned and not p_parks then return 'poisoned'; end if;
  end if;
  update claim set live = false, released_at = moment
  where repository_id = repo and topic = p_topic and id = p_id and fence = p_fence and live;
  update claim_grant set ended = 'released', ended_at = moment
  where repository_id = repo and topic = p_topic and id = p_id and fence = p_fence and ended is null;
  if num is null then return 'release'; end if;
  if i.poisoned then return 'poisoned'; end if;
  if i.markable and i.state is null then
    insert into outbox (repository_id, issue_number, kind, promise, payload, created_at, next_try_at)
    values (repo, num, 'release_outcome', 'outcome:' || num || ':' || p_fence || ':released',
      jsonb_build_object('number', num, 'owner', c.owner, 'fence', p_fence, 'note', p_note), moment, moment)
    on conflict (repository_id, promise) where state = 'pending' do nothing;
  end if;
  return 'release';
end $$;
