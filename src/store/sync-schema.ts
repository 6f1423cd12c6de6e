/** The tables that tell how far the mirror is known to be whole, as Kysely sees them. */

import type { ColumnType } from "kysely";

type Timestamp = ColumnType<Date, Date | string, Date | string>;
type Defaulted<T> = ColumnType<T, T | undefined, T>;

export interface SweepSeenTable {
  repository_id: number;
  kind: "issue" | "comment";
  id: number;
}

export interface DeliveryAuditTable {
  singleton: Defaulted<boolean>;
  covered_from: Timestamp | null;
  covered_to: Timestamp | null;
  last_id: number | null;
  last_at: Timestamp | null;
  doubt: string | null;
  link_events: Defaulted<boolean>;
  link_events_at: Timestamp | null;
  auditor: string | null;
  auditor_until: Timestamp | null;
}

export interface MissedDeliveryTable {
  repository_id: number;
  guid: string;
  delivery_id: number;
  installation_id: number | null;
  event: string;
  tries: Defaulted<number>;
  noticed_at: Defaulted<Date>;
}

export interface SyncTables {
  sweep_seen: SweepSeenTable;
  delivery_audit: DeliveryAuditTable;
  missed_delivery: MissedDeliveryTable;
}
