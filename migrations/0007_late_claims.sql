-- A repository that lives only here moves to GitHub's id when the App comes (adopt_repository). A claim that is being
-- granted there meanwhile must not be left behind under the old id: the grant holds the repository's row in share
-- mode, which the move changes first. So the move waits for the grants under way, and a grant that comes after it is
-- broken off, with the code for "run it again". GitHub's own repositories never move: their claims pay nothing.
create function on_local_claim() returns trigger language plpgsql as $$
begin
  perform 1 from repository where id = new.repository_id and current_name for share;
  if not found then
    raise exception 'repository % has just moved', new.repository_id using errcode = 'serialization_failure';
  end if;
  return new;
end $$;
create trigger local_claim_stays before insert on claim
  for each row when (new.repository_id < 0) execute function on_local_claim();
