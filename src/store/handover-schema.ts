/** The tables of what one worker leaves for the next, as Kysely sees them. */

import type { ColumnType } from "kysely";

type Defaulted<T> = ColumnType<T, T | undefined, T>;

export interface ResumeBlockTable {
  repository_id: number;
  number: number;
  branch: string | null;
  pull_number: number | null;
  sha: string | null;
  note: string | null;
  location_fence: Defaulted<number | null>;
  fence: number;
  owner: string;
  written_at: Defaulted<Date>;
}

export interface ChangedPathTable {
  repository_id: number;
  number: number;
  path: string;
  seen_at: Defaulted<Date>;
}

export interface HandoverTables {
  resume_block: ResumeBlockTable;
  changed_path: ChangedPathTable;
}
