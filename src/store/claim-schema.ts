/** The tables of claims, of those who wait for them and of their tokens, as Kysely sees them. */

import type { ColumnType, Generated } from "kysely";

type Timestamp = ColumnType<Date, Date | string, Date | string>;
type Defaulted<T> = ColumnType<T, T | undefined, T>;

export interface ClaimTable {
  repository_id: number;
  topic: string;
  id: string;
  fence: number;
  live: boolean;
  owner: string;
  actor: string;
  region: string;
  scope: Defaulted<string>;
  lease_seconds: number;
  granted_at: Timestamp;
  lease_expires_at: Timestamp;
  released_at: Timestamp | null;
  reclaims: Defaulted<number>;
  grants: Defaulted<number>;
  resourced: Defaulted<boolean>;
}

export type ClaimEnd = "released" | "completed" | "parked" | "lapsed" | "superseded" | "undelivered";

interface ClaimGrantTable {
  repository_id: number;
  topic: string;
  id: string;
  fence: number;
  owner: string;
  actor: string;
  region: string;
  scope: string;
  granted_at: Timestamp;
  new_attempt: boolean;
  previous_fence: number | null;
  ended: ClaimEnd | null;
  ended_at: Timestamp | null;
  resourced: Defaulted<boolean>;
  consumed: Defaulted<string[]>;
}

interface ClaimMarkerTable {
  repository_id: number;
  issue_number: number;
  fence: number;
  comment_id: number;
  owner: string;
  by_app: boolean;
  counted_at: Defaulted<Date>;
}

interface FenceHomeTable {
  singleton: Defaulted<boolean>;
  postmaster_at: Timestamp;
  sequence_file: string;
  written_by: string;
  cluster: number | null;
  timeline: string | null;
}

interface ReplicaTable {
  id: string;
  alive_until: Timestamp;
}

interface ClaimWaiterTable {
  repository_id: number;
  topic: string;
  id: string;
  ticket: Generated<number>;
  replica: string;
  scope: string;
  queued_at: Defaulted<Date>;
}

export interface ClaimTables {
  claim: ClaimTable;
  claim_grant: ClaimGrantTable;
  claim_marker: ClaimMarkerTable;
  claim_waiter: ClaimWaiterTable;
  fence_home: FenceHomeTable;
  replica: ReplicaTable;
}
