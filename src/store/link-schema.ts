/** The tables of edges, as Kysely sees them: the union, what GitHub said of its own, and what hangs on them. */

import type { ColumnType } from "kysely";

type Timestamp = ColumnType<Date, Date | string, Date | string>;
type Defaulted<T> = ColumnType<T, T | undefined, T>;

interface RecordLinkTable {
  repository_id: number;
  topic: string;
  id: string;
  relation: string;
  target_repository_id: number;
  target: string;
  created_at: Defaulted<Date>;
  own: Defaulted<boolean>;
  native: Defaulted<boolean>;
  number: ColumnType<number | null, never, never>;
  target_number: ColumnType<number | null, never, never>;
}

interface NativeLinkTable {
  repository_id: number;
  number: number;
  relation: string;
  target_repository_id: number;
  target: string;
  target_id: ColumnType<number | null, number | null | undefined, number | null>;
  present: boolean;
  said_at: Timestamp;
  end_at: Timestamp;
}

interface MovedIssueTable {
  repository_id: number;
  number: number;
  to_repository_id: number;
  to_number: number;
  parked: Defaulted<boolean>;
  park_reason: Defaulted<string | null>;
  ruling_owner: Defaulted<string | null>;
  question: Defaulted<string | null>;
  inherited_at: Defaulted<Date | null>;
}

interface CycleMemberTable {
  repository_id: number;
  number: number;
  relation: string;
  cycle: string;
  place: number;
  since: Defaulted<Date>;
}

interface ForeignBlockerTable {
  repository_id: number;
  number: number;
  target_repository_id: number;
  target: string;
  open: boolean;
  state_reason: string | null;
}

interface ForeignReadingTable {
  repository_id: number;
  number: number;
  due_at: Timestamp;
  etag: string | null;
  error: string | null;
}

export interface LinkTables {
  record_link: RecordLinkTable;
  native_link: NativeLinkTable;
  moved_issue: MovedIssueTable;
  cycle_member: CycleMemberTable;
  foreign_blocker: ForeignBlockerTable;
  foreign_reading: ForeignReadingTable;
}
