-- Where the App comes (back) to, the mirror is as old as when it left, or empty, until the repository is read: until then
-- what GitHub's lists tell of blockers there counts, as before, and not the mirror.
alter table repository add column unread boolean not null default false;

create or replace function edge_satisfied(by_repo bigint, by_num integer, repo bigint, target text) returns boolean
language plpgsql stable as $$
declare told boolean;
begin
  if repo <> by_repo and not exists (select 1 from repository r where r.id = repo and r.installed and not r.unread) then
    select not f.open and coalesce(f.state_reason, 'completed') = 'completed' into told from foreign_blocker f
    where f.repository_id = by_repo and f.number = by_num and f.target_repository_id = repo and f.target = edge_satisfied.target;
    if found then return told; end if;
  end if;
  return blocker_satisfied(repo, target);
end $$;

drop trigger repository_heard on repository;
create trigger repository_heard after update of installed, unread on repository for each row
  when ((new.installed and not new.unread) <> (old.installed and not old.unread))
  execute function on_repository_installed();
