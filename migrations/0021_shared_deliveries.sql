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
