/** A fenced write of one record as one call (`write_record` in migrations/0019): round trips decide its speed. */

import type { FenceRefusal } from "../domain/fence.ts";
import type { RecordRef } from "../domain/record-key.ts";
import { callFunction, callTogether, isShared, type SharedCall } from "./call.ts";
import type { Db } from "./database.ts";
import { type MemoryRecord, repositoryMoved } from "./records.ts";

export interface RecordWrite {
  readonly ref: RecordRef;
  readonly token: number | null;
  readonly actor: string;
  /** Where this deployment writes. */
  readonly region: string;
  /** Scalars by their names in the API; what is not named stays. */
  readonly given: Readonly<Record<string, string | null | undefined>>;
  readonly addTags: readonly string[];
  readonly removeTags: readonly string[];
  /** Make the record if it is absent. */
  readonly create: boolean;
}

/** `missing`: it is absent; `expired`: it would be at once; `report_ttl`: a Report would expire. */
export type WriteRefusal = FenceRefusal | "missing" | "expired" | "report_ttl";

export type WrittenRow =
  | { readonly refused: WriteRefusal }
  | { readonly refused?: undefined; readonly record: MemoryRecord; readonly created: boolean };

const WRITE_RECORD = {
  name: "write_record",
  text: "select write_record($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as answer",
};

/** Scalars only: what hangs on tags is locked in the order that their triggers find it in. */
const WRITE_SCALARS: SharedCall = {
  name: "write_scalars",
  text: "select write_record($1, $2, $3, $4, $5, $6, $7, '{}', '{}', $8) as answer",
};

/** Who writes a long text does not make others wait for it. */
const MOST_SHARED = 65_536;

type Answer =
  | { readonly refused: WriteRefusal | "moved" }
  | { readonly refused?: undefined; readonly record: PrintedRecord; readonly created: boolean };

/** Times as PostgreSQL's JSON writes them. */
type PrintedRecord = Omit<MemoryRecord, "expiresAt" | "createdAt" | "updatedAt"> & {
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
};

/** Writes the record if the token passes the fence, or says why not; nothing is written then. */
export async function writeRecord(db: Db, write: RecordWrite): Promise<WrittenRow> {
  const { ref } = write;
  const start = [ref.repositoryId, ref.topic, ref.id, write.token, write.actor, write.region, write.given];
  const { addTags, removeTags, create } = write;
  const shares = isShared(ref) && JSON.stringify(write.given).length <= MOST_SHARED;
  const answer =
    addTags.length + removeTags.length === 0
      ? await callTogether<Answer>(db, WRITE_SCALARS, [...start, create], shares)
      : await callFunction<Answer>(db, WRITE_RECORD, [...start, [...addTags], [...removeTags], create]);
  if (answer.refused === "moved") throw repositoryMoved();
  if (answer.refused !== undefined) return { refused: answer.refused };
  const { record, created } = answer;
  return {
    created,
    record: {
      ...record,
      expiresAt: record.expiresAt === null ? null : new Date(record.expiresAt),
      createdAt: new Date(record.createdAt),
      updatedAt: new Date(record.updatedAt),
    },
  };
}
