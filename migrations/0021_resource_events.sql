-- Events of resource leases. An event is about the item that holds the resource: who does not reach the item learns
-- neither of it nor who holds what. The actor and the claim's token are not told.

create function on_resource_taken_event() returns trigger language plpgsql as $$
begin
  perform log_event(new.repository_id, 'resource.acquired', new.number, jsonb_build_object('key', new.key,
    'expiresAt', to_char(new.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
  return null;
end $$;
create trigger resource_lease_taken_event after insert on resource_lease for each row
  when (new.ended is null) execute function on_resource_taken_event();

create function on_resource_ended_event() returns trigger language plpgsql as $$
begin
  perform log_event(new.repository_id, 'resource.released', new.number,
    jsonb_build_object('key', new.key, 'how', new.ended));
  return null;
end $$;
create trigger resource_lease_ended_event after update of ended on resource_lease for each row
  when (old.repository_id = new.repository_id and old.ended is null and new.ended is not null)
  execute function on_resource_ended_event();
