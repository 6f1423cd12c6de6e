/** The tables of requests to open issues, as Kysely sees them (`migrations/0011`). */

import type { ColumnType, JSONColumnType } from "kysely";

type Timestamp = ColumnType<Date, Date | string, Date | string>;
type Defaulted<T> = ColumnType<T, T | undefined, T>;

export interface AuthoringTable {
  repository_id: number;
  id: string;
  kind: "item" | "grouping";
  actor: string;
  request_key: string;
  fingerprint: string;
  branch: string | null;
  request: JSONColumnType<object>;
  created_at: Defaulted<Date>;
  worker: string | null;
  worker_until: Timestamp | null;
}

export interface AuthoredIssueTable {
  repository_id: number;
  authoring_id: string;
  ref: string;
  mark: string;
  tried_at: Timestamp | null;
  number: number | null;
}

export interface AuthoringTables {
  authoring: AuthoringTable;
  authored_issue: AuthoredIssueTable;
}
