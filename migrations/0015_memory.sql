-- Memory: full-text search, and the removal of what has expired.

-- Text as words. The parser takes paths, addresses and tags in angle brackets for one word each, or for markup that it
-- leaves out; with a space in place of what joins them every word is found by itself, and so is `records.ts` as the
-- words `records ts`, one after the other. Character for character, so that a place in it is a place in the original.
-- The last three are the marks of highlights, which no text may bring along.
create function search_text(value text) returns text language sql immutable parallel safe
  return translate(value, './:@#\-_<>&+%=' || chr(57344) || chr(57345) || chr(57346), repeat(' ', 17));

-- What a record is found by: its title (A), its id and tags (B), its body (D). Two lexemes that no word can be, for they
-- begin with a space, name the repository and the topic: so the index itself finds only what is in them. They weigh as
-- the title does, so that they also stand in the index of titles. A tsvector holds a megabyte; what is longer than any
-- note is not indexed to its end.
create function record_search(repo bigint, topic text, id text, title text, body text, tags text[])
  returns tsvector language sql immutable parallel safe
  return format(''' %s'':1A '' t%s'':2A', repo, topic)::tsvector
    || setweight(to_tsvector('pg_catalog.english'::regconfig, search_text(coalesce(title, ''))), 'A')
    || setweight(to_tsvector('pg_catalog.english'::regconfig,
         search_text(id || ' ' || left(array_to_string(tags, ' '), 20000))), 'B')
    || setweight(to_tsvector('pg_catalog.english'::regconfig, search_text(left(coalesce(body, ''), 100000))), 'D');

alter table record add column search tsvector not null
  generated always as (record_search(repository_id, topic, id, title, body, tags)) stored;

create index record_search on record using gin (search);
create index record_search_title on record using gin (ts_filter(search, '{a}'));
-- Of a word that very many records hold, the newest are looked at. Items have other listings, and are many.
create index record_newest on record (repository_id, updated_at desc) where topic <> 'backlog';
create index record_expiring on record (expires_at) where expires_at is not null;
