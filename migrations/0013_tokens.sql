-- API tokens (protocol 10). Of a token only its SHA-256 is kept: it has 256 random bits, so that nobody finds it from
-- that, and looking it up by an index tells nothing that helps to guess it.

create table api_token (
  -- Never used again, whatever database is restored: claims and the audit trail name their actor `token/<id>`.
  id               uuid primary key default gen_random_uuid(),
  -- The order of the list.
  seq              bigint not null generated always as identity unique,
  hash             bytea not null unique check (octet_length(hash) = 32),
  name             text not null,
  capabilities     text[] not null,
  -- Said by itself, and not by an empty list: what is lost from a list must never widen what a token reaches.
  every_repository boolean not null,
  rooted           boolean not null,
  tags             text[],
  github_login     text,
  created_by       text not null,
  created_at       timestamptz not null default db_now(),
  expires_at       timestamptz,
  -- A revoked token is kept: what it did is told under its name.
  revoked_at       timestamptz,
  revoked_by       text,
  -- To the minute.
  last_used_at     timestamptz
);

-- The repositories that a token is for. The column is named as everywhere, so that a repository that lived only here
-- takes its tokens with it to GitHub's id.
create table api_token_repository (
  repository_id bigint not null,
  token_id      uuid not null references api_token,
  primary key (repository_id, token_id)
);
create index api_token_repository_of on api_token_repository (token_id);

-- The items at and below which a token reaches.
create table api_token_root (
  repository_id bigint not null,
  number        integer not null,
  token_id      uuid not null references api_token,
  primary key (repository_id, number, token_id)
);
create index api_token_root_of on api_token_root (token_id);

-- Every process hears at once that what it remembers of tokens is not true any more.
create function tell_token() returns trigger language plpgsql as $$
begin
  notify api_token;
  return null;
end $$;
create trigger api_token_changed after update of revoked_at, expires_at or delete on api_token
  for each row execute function tell_token();
create trigger api_token_repository_changed after update or delete on api_token_repository
  for each statement execute function tell_token();
create trigger api_token_root_changed after update or delete on api_token_root
  for each statement execute function tell_token();
