-- How often whoever had begun a delivery never came back: the process ended, or hung past its lease. Such a delivery is
-- applied alone from then on, so that what it does to a process it does not do in company, and given up after a few times.
alter table inbox add column lapses integer not null default 0;
