-- Whether edits have told of the text that an admitted item's issue has: the delivery of an edit may be lost while another
-- event brings its text, and then nobody decided whether who edited it may (domain/body-trail.ts). Null with nearly all.
alter table issue add column body_trail jsonb;
-- Since when the text is not told of, by this database's clock: an edit that is only late is waited for.
alter table issue add column body_untold_since timestamptz;
create index issue_body_trail on issue (repository_id, body_untold_since) where body_trail is not null;
