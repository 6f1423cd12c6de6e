/** The table of resource leases (`migrations/0016`), as Kysely sees it. */

import type { ColumnType, Generated } from "kysely";
import type { ResourceEnd } from "../domain/resources.ts";

type Timestamp = ColumnType<Date, Date | string, Date | string>;

export interface ResourceLeaseTable {
  repository_id: number;
  number: number;
  id: Generated<number>;
  account: string;
  key: string;
  fence: number;
  actor: string;
  acquired_at: Timestamp;
  expires_at: Timestamp;
  ended: ResourceEnd | null;
  ended_at: Timestamp | null;
  ended_by: string | null;
}

export interface ResourceTables {
  resource_lease: ResourceLeaseTable;
}
