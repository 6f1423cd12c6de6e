-- The repository's configuration file: what was read of it, beside the settings in force (repository.settings).

create table configuration (
  repository_id   bigint primary key,
  -- False until the file was looked for, once: what is found then was there when the App was installed, and is taken.
  known           boolean not null default false,
  -- Goes up with every look and with every push that calls for one: what was read before that is read again.
  version         bigint not null default 0,
  -- Why the file is not valid. While it is not, the settings stay as they were.
  problems        text[] not null default '{}',
  -- What the file says and does not hold until a human pushed or merged it.
  held            text[] not null default '{}'
);

-- Repositories from before have been under the default settings. A file that turns up later is judged against those.
insert into configuration (repository_id, known)
select id, backfill_state = 'done' or backfill_cursor is not null from repository where backfill_state <> 'none';
