/** The tables of `migrations/`, as Kysely sees them. Only the store knows these shapes. */

import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type { AnchorTables } from "./anchor-schema.ts";
import type { AuthoringTables } from "./authoring-schema.ts";
import type { ClaimTables } from "./claim-schema.ts";
import type { EventTables } from "./event-schema.ts";
import type { HandoverTables } from "./handover-schema.ts";
import type { LinkTables } from "./link-schema.ts";
import type { MirrorTables } from "./mirror-schema.ts";
import type { ResourceTables } from "./resource-schema.ts";
import type { SyncTables } from "./sync-schema.ts";
import type { TokenTables } from "./token-schema.ts";

type Timestamp = ColumnType<Date, Date | string, Date | string>;
type Defaulted<T> = ColumnType<T, T | undefined, T>;

export interface InstallationTable {
  id: number;
  account_id: number | null;
  account_login: string;
  suspended_at: Timestamp | null;
  removed_at: Timestamp | null;
  writer: string | null;
  writer_until: Timestamp | null;
  paused_until: Timestamp | null;
}

export interface RepositoryTable {
  id: number;
  installation_id: number | null;
  owner: string;
  name: string;
  default_branch: Defaulted<string>;
  html_url: string | null;
  installed: Defaulted<boolean>;
  archived: Defaulted<boolean>;
  unread: Defaulted<boolean>;
  settings: JSONColumnType<object, string | undefined, string>;
  backfill_state: Defaulted<"none" | "pending" | "done">;
  backfill_cursor: JSONColumnType<object> | null;
  backfill_error: string | null;
  backfill_mode: Defaulted<"take_up" | "since" | "all">;
  synced_at: Timestamp | null;
  synced_to: Timestamp | null;
  swept_at: Timestamp | null;
  described_at: Timestamp | null;
  backfiller: string | null;
  backfiller_until: Timestamp | null;
  current_name: Defaulted<boolean>;
  created_at: Defaulted<Date>;
}

export interface ConfigurationTable {
  repository_id: number;
  known: Defaulted<boolean>;
  version: Defaulted<number>;
  problems: Defaulted<string[]>;
  held: Defaulted<string[]>;
}

export interface InboxTable {
  repository_id: number;
  hook_id: string;
  delivery_id: string;
  seq: Generated<number>;
  event: string;
  action: string | null;
  lane: string;
  payload: string;
  state: Defaulted<"pending" | "done" | "failed">;
  attempts: Defaulted<number>;
  error: string | null;
  received_at: Defaulted<Date>;
  next_try_at: Defaulted<Date>;
  locked_until: Timestamp | null;
  finished_at: Timestamp | null;
  alone: Defaulted<boolean>;
  lapses: Defaulted<number>;
}

export interface RecordTable {
  repository_id: number;
  topic: string;
  id: string;
  kind: string;
  title: string | null;
  body: string | null;
  author: string | null;
  provenance: string | null;
  tags: Defaulted<string[]>;
  expires_at: Timestamp | null;
  created_at: Defaulted<Date>;
  updated_at: Defaulted<Date>;
  written_by: string | null;
  search: ColumnType<string, never, never>;
}

export interface ItemTable {
  repository_id: number;
  number: number;
  enrolled: Defaulted<boolean>;
  admitted: boolean;
  admitted_by: string | null;
  admission_at: Timestamp;
  state: "complete" | "parked" | "cancelled" | null;
  state_at: Timestamp | null;
  state_by: string | null;
  state_event_at: Timestamp | null;
  open_since: Timestamp | null;
  attempts_after: Defaulted<number>;
  was_parked: Defaulted<boolean>;
  park_reason: string | null;
  ruling_owner: string | null;
  question: string | null;
  created_at: Timestamp;
  issue_open: Generated<boolean>;
  home_region: Generated<string | null>;
  open_blockers: Generated<number>;
  parts: Generated<number>;
  ancestors: Generated<number[]>;
  integrates: Generated<number | null>;
  threshold: Generated<number | null>;
  priority: Generated<number>;
  phase: Generated<string | null>;
  active_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  hold_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  hold_by: Defaulted<string | null>;
  hold_note: Defaulted<string | null>;
  started_under: Defaulted<number | null>;
  grouping: Generated<boolean>;
  flawed: Generated<boolean>;
  resource_keys: Generated<string[] | null>;
  park_by: Defaulted<string | null>;
  park_at: Timestamp | null;
  offered: ColumnType<boolean, never, never>;
  urgency: ColumnType<number, never, never>;
  review: Defaulted<"in_review" | "resumable" | "again" | null>;
  review_pull: Defaulted<number | null>;
  review_waits: Defaulted<string | null>;
}

export interface DefectTable {
  repository_id: number;
  number: number;
  code: string;
  value: string;
  detail: string;
  since: Defaulted<Date>;
}

export interface TransitionTable {
  repository_id: number;
  number: number;
  id: Generated<number>;
  trigger: string;
  actor: string;
  from_role: string;
  to_role: string;
  summary: string | null;
  fence: number | null;
  at: Defaulted<Date>;
}

export interface IncidentTable {
  repository_id: number;
  number: number;
  code: string;
  value: string;
  detail: string;
  since: Defaulted<Date>;
}

export interface OutboxTable {
  repository_id: number;
  id: Generated<number>;
  issue_number: number | null;
  kind: string;
  promise: string;
  payload: JSONColumnType<object>;
  state: Defaulted<"pending" | "done" | "failed">;
  attempts: Defaulted<number>;
  error: string | null;
  created_at: Defaulted<Date>;
  next_try_at: Defaulted<Date>;
  finished_at: Timestamp | null;
  revision: Defaulted<number>;
}

export interface KeptAnswerTable {
  actor: string;
  key: string;
  fingerprint: string;
  status: number;
  body: string;
  repository_id: number | null;
  topic: string | null;
  id: string | null;
  fence: number | null;
  kept_until: Timestamp;
}

export interface Tables
  extends MirrorTables,
    HandoverTables,
    LinkTables,
    AnchorTables,
    AuthoringTables,
    ClaimTables,
    SyncTables,
    TokenTables,
    EventTables,
    ResourceTables {
  installation: InstallationTable;
  repository: RepositoryTable;
  configuration: ConfigurationTable;
  inbox: InboxTable;
  record: RecordTable;
  item: ItemTable;
  incident: IncidentTable;
  outbox: OutboxTable;
  kept_answer: KeptAnswerTable;
  transition: TransitionTable;
  defect: DefectTable;
}
