/** The tables of anchors, as Kysely sees them. */

import type { ColumnType } from "kysely";

type Timestamp = ColumnType<Date, Date | string, Date | string>;
type Defaulted<T> = ColumnType<T, T | undefined, T>;

export interface AnchorTable {
  repository_id: number;
  topic: string;
  id: string;
  target_repository_id: number;
  target: string;
  branch: string;
  asked: Defaulted<number>;
  since_sha: string | null;
  captured: string | null;
  current: string | null;
  read_at: Timestamp | null;
  drifted_at: Timestamp | null;
}

export interface AnchoredBranchTable {
  repository_id: number;
  name: string;
  seen_sha: string | null;
  wanted: Defaulted<number>;
  done: Defaulted<number>;
  read_at: Timestamp | null;
  reader: string | null;
  reader_until: Timestamp | null;
}

export interface AnchorTables {
  anchor: AnchorTable;
  anchored_branch: AnchoredBranchTable;
}
