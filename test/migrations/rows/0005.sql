-- Where the token sequence was last known to be: on a server that is long gone.
insert into fence_home (postmaster_at, sequence_file, written_by, cluster, timeline) values
  ('2026-01-01T00:00:00Z', 'base/16384/16810', '779', 7714014503528120000, '00000001');
