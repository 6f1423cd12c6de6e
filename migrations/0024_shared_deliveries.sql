-- Deliveries that need nothing of GitHub are applied many in one transaction (`services/apply-together.ts`). Others, and those
-- that failed in company, are applied alone.
alter table inbox add column alone boolean not null default false;
create index inbox_alone on inbox (seq) where state = 'pending' and alone;

-- Every delivery about an issue writes its row; only one that changes what others wait for is news to them.
drop trigger issue_news on issue;
create trigger issue_news_made after insert on issue for each row execute function on_item_news();
create trigger issue_news after update of state, state_reason, gone on issue for each row
  when (old.state is distinct from new.state or old.state_reason is distinct from new.state_reason
        or old.gone is distinct from new.gone) execute function on_item_news();

-- When nothing but its priority changes, which is what most events about labels come to, no other fact of an item or of those
-- around it does: its own row is written, once. Who writes many records writes their items along, in one statement
-- (`setTagsOfItems`), and there is nothing left to do.
create or replace function on_item_record() returns trigger language plpgsql as $$
declare
  repo bigint := coalesce(new.repository_id, old.repository_id);
  num integer := item_number('backlog', coalesce(new.id, old.id));
  told text[] := case when tg_op = 'DELETE' then null else new.tags end;
begin
  if not exists (select 1 from item where repository_id = repo and number = num and tags is distinct from told) then
    return null;
  end if;
  if tg_op = 'UPDATE' then
    update item set tags = told, priority = priority_of(told) where repository_id = repo and number = num;
  else
    update item set tags = told where repository_id = repo and number = num;
  end if;
  return null;
end $$;

-- As `refresh_item` has it.
create function priority_of(tags text[]) returns smallint language plpgsql immutable as $$
begin
  return coalesce((select case when count(*) = 1 and min(t) ~ '^priority:P[0-3]$' then substr(min(t), 11)::smallint end
    from unnest(tags) t where t like 'priority:%'), 4);
end $$;

create function without_priority(tags text[]) returns text[] language plpgsql immutable as $$
begin
  return array(select t from unnest(tags) t where t not like 'priority:%' order by t);
end $$;

drop trigger record_tags_kept on record;
create trigger record_tags_kept after update of tags on record for each row
  when (new.topic = 'backlog' and old.tags is distinct from new.tags
        and without_priority(old.tags) is distinct from without_priority(new.tags)) execute function on_record_tags();

-- What an item's tags have to do with its defects: of its priority only whether it is one, and one that there is.
create function tags_to_check(tags text[]) returns text[] language plpgsql immutable as $$
begin
  return case when priority_of(tags) < 4 then without_priority(tags) else tags end;
end $$;

drop trigger item_facts_changed on item;
create trigger item_facts_changed after update on item for each row
  when ((old.enrolled, old.admitted, old.state, old.issue_open, old.open_blockers, old.parts, old.ancestors, old.integrates,
         old.grouping, old.attempts_after, old.review)
    is distinct from (new.enrolled, new.admitted, new.state, new.issue_open, new.open_blockers, new.parts, new.ancestors,
         new.integrates, new.grouping, new.attempts_after, new.review)
    or (old.tags is distinct from new.tags and tags_to_check(old.tags) is distinct from tags_to_check(new.tags)))
  execute function on_item_facts();

-- What has no parts is no grouping.
drop trigger item_shape_kept on item;
create trigger item_shape_kept after update of parts, tags on item for each row
  when ((new.parts > 0 or new.grouping)
    and (old.parts is distinct from new.parts or old.tags is distinct from new.tags)) execute function on_item_shape();

-- What was kept long ago is forgotten (`prunePromises`).
create index outbox_done on outbox (finished_at) where state = 'done';
