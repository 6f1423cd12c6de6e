-- What a claim costs a caller who comes alone.

-- One claim as `answer_at_once` decides it (0022), for who comes alone: its parameters as they are, no lists. Null: it is
-- to be asked alone, because a lock is not to be had at once.
create function claim_at_once(
  repo bigint, p_topic text, p_id text, p_owner text, p_actor text, p_region text, p_deployment text,
  p_lease integer, p_scope text, p_takeover boolean, p_wait boolean, p_ticket bigint, p_replica text, p_mark_after integer
) returns json language plpgsql volatile set lock_timeout = '100ms' as $$
declare
  d claim_decision;
  anchored boolean := false;
begin
  if not lock_at_once(repo, p_topic, p_id) then return null; end if;
  d := decide_claim(repo, p_topic, p_id, p_owner, p_actor, p_region, p_deployment, p_lease, p_scope, p_takeover, p_wait,
    p_ticket, p_replica, p_mark_after);
  if (d.given).fence is not null then
    perform write_grants(array[d.given]);
    anchored := exists (select 1 from anchor a where a.repository_id = repo and a.topic = p_topic and a.id = p_id);
  end if;
  return json_build_object('claim', d.answer, 'anchored', anchored);
end $$;
