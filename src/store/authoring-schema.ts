/** The tables of requests to open issues, as Kysely sees them (`migrations/0011`). */

import type { ColumnType, JSONColumnType } from "kysely";
import type { Scope } from "../domain/scope.ts";

type Timestamp = ColumnType<Date, Date | string, Date | string>;
type Defaulted<T> = ColumnType<T, T | undefined, T>;

/** What who asked may see, as JSON. */
export interface KeptView {
  readonly repositories: readonly number[] | null;
  readonly scope: Scope | null;
}

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
  view: JSONColumnType<KeptView> | null;
  answer_fingerprint: string | null;
  tries: Defaulted<number>;
  next_try_at: Defaulted<Date>;
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
