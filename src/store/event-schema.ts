/** Tables of the event log (migrations/0014). */

import type { ColumnType, Generated, JSONColumnType } from "kysely";

export interface EventNewTable {
  seq: Generated<number>;
  repository_id: number;
  type: string;
  number: number | null;
  data: JSONColumnType<object>;
  at: ColumnType<Date, Date | string | undefined, Date | string>;
}

export interface EventTable {
  repository_id: number;
  id: number;
  type: string;
  number: number | null;
  data: JSONColumnType<object>;
  at: ColumnType<Date, Date | string, Date | string>;
}

export interface EventLogTable {
  singleton: Generated<boolean>;
  last_id: number;
  pruned_id: number;
}

export interface EventTables {
  event_new: EventNewTable;
  event: EventTable;
  event_log: EventLogTable;
}
