-- What GitHub tells of blockers in repositories where the App is not installed, and readings of a pull request's reviews.

-- ---------------------------------------------------------------- reviews

-- Whether its reviews are to be listed when it is read next: events of them may have been missed.
alter table pull_request add column reviews_due boolean not null default false;
