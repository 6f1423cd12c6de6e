/** The one call that decides and grants a claim (`take_claim` in migrations/0002): round trips decide its speed. */

import { sql } from "kysely";
import type { RecordRef } from "../domain/record-key.ts";
import type { Db } from "./database.ts";
import { untilNotBrokenOff } from "./failure.ts";

export interface ClaimCall {
  readonly ref: RecordRef;
  readonly owner: string;
  readonly actor: string;
  /** Where the caller wants to hold it, and where this deployment takes claims. */
  readonly region: string;
  readonly deploymentRegion: string;
  readonly leaseSeconds: number;
  readonly scope: "item" | "subtree";
  readonly takeover: boolean;
  /** Get in line when it is contended. */
  readonly wait: boolean;
  /** The caller's place in the line, if it has one. */
  readonly ticket: number | null;
  readonly replica: string;
  /** How long the marker waits, so that a grant that cannot be delivered can still be taken back. */
  readonly markAfterSeconds: number;
}

export interface PreviousClaim {
  readonly owner: string;
  readonly fence: number;
  readonly lapsed: boolean;
}

export interface ClaimGrantedRow {
  readonly granted: true;
  readonly fence: number;
  readonly grantedAt: string;
  readonly leaseExpiresAt: string;
  readonly newAttempt: boolean;
  readonly attempt: number;
  readonly previous: PreviousClaim | null;
  /** Of items only. */
  readonly tags: readonly string[] | null;
  readonly title: string | null;
  readonly url: string | null;
}

export interface ClaimRefusedRow {
  readonly granted: false;
  readonly reason: string;
  readonly retryAfterMs: number | null;
  readonly blockers: readonly number[];
  /** The caller's place in the line, if it was put there. */
  readonly ticket?: number;
}

export type ClaimRow = ClaimGrantedRow | ClaimRefusedRow;

/** Takes a claim, refuses it, or puts the caller into the line. */
export async function takeClaim(db: Db, call: ClaimCall): Promise<ClaimRow> {
  const { ref } = call;
  const query = sql<{ answer: ClaimRow }>`
    select take_claim(${ref.repositoryId}, ${ref.topic}, ${ref.id}, ${call.owner}, ${call.actor}, ${call.region},
      ${call.deploymentRegion}, ${call.leaseSeconds}, ${call.scope}, ${call.takeover}, ${call.wait}, ${call.ticket},
      ${call.replica}, ${call.markAfterSeconds}) as answer`;
  // In a transaction of the caller's, that one is run again.
  const { rows } = await (db.isTransaction ? query.execute(db) : untilNotBrokenOff(() => query.execute(db)));
  const answer = rows[0]?.answer;
  if (!answer) throw new Error("take_claim answered nothing");
  return answer;
}
