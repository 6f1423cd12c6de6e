-- Anchors (protocol 11): what a record's files were when it was anchored to them, and what they are now. GitHub is read
-- outside transactions, by whoever leases the branch; nothing here asks it.

-- One row for each link `anchoredTo` a file of a repository that is known here. Triggers on record_link keep it so.
create table anchor (
  repository_id   bigint not null,
  topic           text not null,
  id              text not null,
  target_repository_id bigint not null,
  target          text not null,
  -- Where the file is looked at: an item's base branch, else the default branch of the file's repository.
  branch          text not null,
  -- Goes up when it is to be captured or looked at anew: what was read for an earlier one is dropped.
  asked           integer not null default 1,
  -- The branch's head when it was anchored, as far as it was known.
  since_sha       text,
  -- Ids of what was anchored, and of what is there now (domain/anchors.ts). Null: not read yet.
  captured        text,
  current         text,
  -- When its present ids were found; null: they are to be read.
  read_at         timestamptz,
  drifted_at      timestamptz,
  primary key (repository_id, topic, id, target_repository_id, target)
);
create index anchor_at_branch on anchor (target_repository_id, branch);
create index anchor_unread on anchor (target_repository_id, branch) where read_at is null;

-- Branches that something was ever anchored on. A push or the end of a reading writes here, and no link that is made or
-- removed: writers of different items do not wait for each other.
create table anchored_branch (
  repository_id   bigint not null,
  name            text not null,
  -- The head that a push or a reading showed last; null: a push was missed, or nothing was seen yet.
  seen_sha        text,
  -- Counts what called for a reading, and up to where that was done.
  wanted          bigint not null default 0,
  done            bigint not null default 0,
  read_at         timestamptz,
  -- Who reads it, or nobody, before when it is not tried again.
  reader          text,
  reader_until    timestamptz,
  primary key (repository_id, name)
);
create index anchored_branch_wanted on anchored_branch (repository_id) where wanted > done;

create function anchor_branch(repo bigint, p_topic text, p_id text, target_repo bigint) returns text
language plpgsql stable as $$
declare base text;
begin
  if p_topic = 'backlog' and repo = target_repo then
    select case when count(*) = 1 then nullif(min(substr(t, 12)), '') end into base
    from record r, unnest(r.tags) t
    where r.repository_id = repo and r.topic = p_topic and r.id = p_id and t like 'baseBranch:%';
  end if;
  return coalesce(base, (select default_branch from repository where id = target_repo), 'main');
end $$;

create function on_anchor_link() returns trigger language plpgsql as $$
declare p_branch text;
begin
  if tg_op <> 'INSERT' then
    delete from anchor where repository_id = old.repository_id and topic = old.topic and id = old.id
      and target_repository_id = old.target_repository_id and target = old.target and old.relation = 'anchoredTo';
  end if;
  if tg_op <> 'DELETE' and new.relation = 'anchoredTo' and new.target_repository_id <> 0 and new.target like 'file/%' then
    p_branch := anchor_branch(new.repository_id, new.topic, new.id, new.target_repository_id);
    insert into anchor (repository_id, topic, id, target_repository_id, target, branch, since_sha)
    values (new.repository_id, new.topic, new.id, new.target_repository_id, new.target, p_branch,
      (select seen_sha from anchored_branch where repository_id = new.target_repository_id and name = p_branch))
    on conflict do nothing;
  end if;
  return null;
end $$;
create trigger anchor_made after insert on record_link for each row
  when (new.relation = 'anchoredTo') execute function on_anchor_link();
create trigger anchor_gone after delete on record_link for each row
  when (old.relation = 'anchoredTo') execute function on_anchor_link();
-- A repository that lived only here gets GitHub's id; a file's repository gets to be known.
create trigger anchor_moved after update of repository_id, topic, id, relation, target_repository_id, target on record_link
  for each row when ((old.relation = 'anchoredTo' or new.relation = 'anchoredTo')
    and (old.repository_id, old.topic, old.id, old.relation, old.target_repository_id, old.target)
      is distinct from (new.repository_id, new.topic, new.id, new.relation, new.target_repository_id, new.target))
  execute function on_anchor_link();

-- Another base branch: what was captured stays, and is compared with what is there.
create function on_anchor_base() returns trigger language plpgsql as $$
begin
  update anchor a set branch = anchor_branch(a.repository_id, a.topic, a.id, a.target_repository_id),
    asked = a.asked + 1, since_sha = null, current = null, read_at = null, drifted_at = null
  where a.repository_id = new.repository_id and a.topic = new.topic and a.id = new.id
    and a.branch <> anchor_branch(a.repository_id, a.topic, a.id, a.target_repository_id);
  return null;
end $$;
create trigger anchor_follows_tags after update of tags on record for each row
  when (new.topic = 'backlog' and old.tags is distinct from new.tags) execute function on_anchor_base();
-- The record may come after its links.
create trigger anchor_follows_record after insert on record for each row
  when (new.topic = 'backlog') execute function on_anchor_base();

create function on_anchor_default() returns trigger language plpgsql as $$
begin
  update anchor a set branch = anchor_branch(a.repository_id, a.topic, a.id, a.target_repository_id),
    asked = a.asked + 1, since_sha = null, current = null, read_at = null, drifted_at = null
  where a.target_repository_id = new.id
    and a.branch <> anchor_branch(a.repository_id, a.topic, a.id, a.target_repository_id);
  return null;
end $$;
create trigger anchor_follows_default after update of default_branch on repository for each row
  when (old.default_branch is distinct from new.default_branch) execute function on_anchor_default();

-- Paths that are not spelled the plain way, `.` and `a//b`: what they may meet is not found by prefix.
create index record_link_odd on record_link (repository_id)
  where relation = 'anchoredTo' and target ~ '//|/[.](/|$)';

insert into anchor (repository_id, topic, id, target_repository_id, target, branch)
select repository_id, topic, id, target_repository_id, target, anchor_branch(repository_id, topic, id, target_repository_id)
from record_link
where relation = 'anchoredTo' and target_repository_id <> 0 and target like 'file/%';
