-- The reference: a full claim as one function that knows nothing of Leasehold's rules and writes the same rows in the
-- same tables: advisory lock, item check, nextval, upsert of the claim, grant, outbox.
create sequence if not exists bench_item;

create or replace function reference_claim(repo bigint, num integer, p_owner text, p_lease integer) returns bigint
language plpgsql as $$
declare
  p_id text := 'issue-' || num;
  moment timestamptz := clock_timestamp();
  expires timestamptz := moment + make_interval(secs => p_lease);
  is_free boolean;
  token bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(repo || '/backlog/' || p_id, 7203));
  select admitted and state is null and open_blockers = 0 into is_free from item where repository_id = repo and number = num;
  if not is_free then return null; end if;
  token := nextval('fence');
  insert into claim as c (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at, lease_expires_at)
  values (repo, 'backlog', p_id, token, true, p_owner, 'admin', 'local', 'item', p_lease, moment, expires)
  on conflict (repository_id, topic, id) do update set fence = excluded.fence, live = true, owner = excluded.owner,
    granted_at = excluded.granted_at, lease_expires_at = excluded.lease_expires_at, grants = c.grants + 1
  where not c.live or c.lease_expires_at < moment;
  if not found then return null; end if;
  insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt)
  values (repo, 'backlog', p_id, token, p_owner, 'admin', 'local', 'item', moment, true);
  insert into outbox (repository_id, issue_number, kind, promise, payload, next_try_at)
  values (repo, num, 'claim_marker', 'claim:' || token, jsonb_build_object(
    'number', num, 'owner', p_owner, 'region', 'local', 'fence', token, 'grantedAt', moment, 'leaseExpiresAt', expires,
    'attempt', 1, 'threshold', 3, 'previous', null), moment);
  return token;
end $$;
