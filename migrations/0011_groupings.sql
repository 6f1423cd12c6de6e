-- Issues that Leasehold is asked to open: alone (a proposal), or an epic with its sub-issues (a grouping). GitHub is
-- asked one issue at a time, outside any transaction, so that what was asked and how far it came is written down
-- first. A row stays until its records are written: what is found here is unfinished.
create table authoring (
  repository_id   bigint not null,
  id              uuid not null,
  kind            text not null check (kind in ('item', 'grouping')),
  actor           text not null,
  -- The caller's idempotency key, or what stands for one: the same request by the same caller goes on with this one.
  request_key     text not null,
  -- Tells one request from another: a digest of it.
  fingerprint     text not null,
  -- The epic's branch, of a grouping.
  branch          text,
  request         jsonb not null,
  created_at      timestamptz not null default db_now(),
  -- One at a time works on it; it lapses with the process.
  worker          text,
  worker_until    timestamptz,
  primary key (repository_id, id)
);
create unique index authoring_by_key on authoring (repository_id, actor, request_key);
create unique index authoring_by_branch on authoring (repository_id, branch) where branch is not null;

create table authored_issue (
  repository_id   bigint not null,
  authoring_id    uuid not null,
  -- The request's name for it; '' is the proposal itself, or the epic.
  ref             text not null,
  -- Stands in the issue's body, invisibly: by it the issue is found after a lost answer.
  mark            uuid not null,
  -- When GitHub was last asked to open it. Not null without a number: it may be there.
  tried_at        timestamptz,
  number          integer,
  primary key (repository_id, authoring_id, ref)
);

-- Whether an epic shows its diagram: in its own text, or in a comment.
create function has_diagram(repo bigint, num integer) returns boolean language sql stable as $$
  select exists (select 1 from issue s where s.repository_id = repo and s.number = num and s.body ~ '(```|~~~)[ \t]*mermaid')
    or exists (select 1 from issue_comment c where c.repository_id = repo and c.issue_number = num and not c.deleted
      and c.body ~ '(```|~~~)[ \t]*mermaid')
$$;

-- ---------------------------------------------------------------- whose defects are looked at again

-- What speaks against an epic, its integration item or a part of it may lie in another's rows. `ask_item_check` comes
-- with 0012, and is called when something changes, not now.

-- An epic, and whatever integrates it.
create function ask_grouping_check(repo bigint, epic integer) returns void language plpgsql volatile as $$
declare integration integer;
begin
  perform ask_item_check(repo, epic);
  for integration in select number from item where repository_id = repo and integrates = epic order by number loop
    perform ask_item_check(repo, integration);
  end loop;
end $$;

create function on_grouping_link() returns trigger language plpgsql as $$
declare edge record := coalesce(new, old);
begin
  if edge.relation in ('partOf', 'integrates') and edge.target_number is not null then
    perform ask_grouping_check(edge.target_repository_id, edge.target_number);
  end if;
  return null;
end $$;
-- Named to come after the trigger that keeps `integrates`: triggers run by name.
create trigger record_link_shapes after insert or delete on record_link
  for each row execute function on_grouping_link();

create function on_grouping_member() returns trigger language plpgsql as $$
declare epic record;
begin
  for epic in
    select distinct l.target_repository_id as repo, l.target_number as num from record_link l
    where l.repository_id = new.repository_id and l.number = new.number and l.relation in ('partOf', 'integrates')
      and l.target_number is not null order by 1, 2
  loop
    perform ask_grouping_check(epic.repo, epic.num);
  end loop;
  return null;
end $$;
create trigger item_shapes_grouping after update of state, enrolled on item for each row
  when (old.state is distinct from new.state or old.enrolled is distinct from new.enrolled)
  execute function on_grouping_member();

-- Another branch of the epic: what its parts target is right or wrong anew.
create function on_epic_branch() returns trigger language plpgsql as $$
declare part record;
begin
  if array(select t from unnest(old.tags) t where t like 'baseBranch:%' order by t)
     = array(select t from unnest(new.tags) t where t like 'baseBranch:%' order by t) then
    return null;
  end if;
  for part in
    select l.repository_id as repo, l.number as num from record_link l
    where l.target_repository_id = new.repository_id and l.target_number = item_number(new.topic, new.id)
      and l.relation = 'partOf' and l.number is not null order by 1, 2
  loop
    perform ask_item_check(part.repo, part.num);
  end loop;
  return null;
end $$;
create trigger record_epic_branch after update of tags on record for each row
  when (new.topic = 'backlog' and old.tags is distinct from new.tags) execute function on_epic_branch();

create function on_default_branch() returns trigger language plpgsql as $$
declare part integer;
begin
  for part in select number from item where repository_id = new.id and cardinality(ancestors) > 0 order by number loop
    perform ask_item_check(new.id, part);
  end loop;
  return null;
end $$;
create trigger repository_default_branch after update of default_branch on repository for each row
  when (old.default_branch is distinct from new.default_branch) execute function on_default_branch();

-- A diagram comes or goes.
create function on_diagram_comment() returns trigger language plpgsql as $$
begin
  perform ask_item_check(new.repository_id, new.issue_number);
  return null;
end $$;
create trigger issue_comment_diagram_made after insert on issue_comment for each row
  when (new.body ~ 'mermaid') execute function on_diagram_comment();
create trigger issue_comment_diagram_changed after update on issue_comment for each row
  when (new.body ~ 'mermaid' or old.body ~ 'mermaid') execute function on_diagram_comment();

create function on_diagram_text() returns trigger language plpgsql as $$
begin
  perform ask_item_check(new.repository_id, new.number);
  return null;
end $$;
create trigger issue_diagram after update of body on issue for each row
  when (old.body is distinct from new.body and (new.body ~ 'mermaid' or old.body ~ 'mermaid'))
  execute function on_diagram_text();
create trigger outbox_diagram after update of state on outbox for each row
  when (new.promise like 'diagram:%' and new.issue_number is not null and old.state <> new.state)
  execute function on_diagram_comment();
