-- A human's reopening of a live item's issue, by GitHub's clock: merges and closes of before end the item no more. Apart
-- from state_event_at, by which parks are ordered too: a reopening says nothing of the park label.
alter table item add column open_since timestamptz;
