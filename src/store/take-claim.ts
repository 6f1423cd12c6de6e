/**
 * The one call that decides and grants a claim (`take_claim` in migrations/0021; `claim_at_once` in 0026): round trips
 * decide its speed.
 */

import type { RecordRef } from "../domain/record-key.ts";
import type { ResourceMode } from "../domain/settings.ts";
import { callTogether, isShared, type SharedCall } from "./call.ts";
import type { Db } from "./database.ts";
import { repositoryMoved } from "./records.ts";

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

/** What a grant took of the resources that the item needs; of an advisory one its use is only recorded. */
export interface TakenResource {
  readonly key: string;
  readonly mode: ResourceMode;
  readonly expiresAt: string | null;
}

export interface ClaimGrantedRow {
  readonly granted: true;
  readonly fence: number;
  readonly grantedAt: string;
  readonly leaseExpiresAt: string;
  readonly newAttempt: boolean;
  readonly attempt: number;
  readonly previous: PreviousClaim | null;
  /** An own pull request of the item is open. */
  readonly ownPull: boolean;
  /** Of items only. */
  readonly tags: readonly string[] | null;
  readonly title: string | null;
  readonly url: string | null;
  /** Null: it needs none. */
  readonly resources: readonly TakenResource[] | null;
  /** Whether it is anchored to anything. */
  readonly anchored: boolean;
}

export interface ClaimRefusedRow {
  readonly granted: false;
  readonly reason: string;
  /** What a person should know beside it. */
  readonly detail?: string;
  readonly retryAfterMs: number | null;
  readonly blockers: readonly number[];
  /** The resources that other items hold, where that is the reason. */
  readonly contendedResources: readonly string[] | null;
  /** A defect of its own blocks it. */
  readonly flawed: boolean | null;
  /** The caller's place in the line, if it was put there. */
  readonly ticket?: number | null;
}

export type ClaimRow = ClaimGrantedRow | ClaimRefusedRow;

const TAKE_CLAIM: SharedCall = {
  name: "take_claim",
  text: `select json_build_object(
    'claim', take_claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14),
    'anchored', exists (select 1 from anchor where repository_id = $1 and topic = $2 and id = $3)) as answer`,
  forOne: {
    name: "claim_at_once",
    text: "select claim_at_once($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) as answer",
  },
};

interface Answer {
  readonly claim: Omit<ClaimGrantedRow, "anchored"> | ClaimRefusedRow;
  readonly anchored: boolean;
}

/** Takes a claim, refuses it, or puts the caller into the line. */
export async function takeClaim(db: Db, call: ClaimCall): Promise<ClaimRow> {
  const { ref } = call;
  const parameters = [
    ref.repositoryId,
    ref.topic,
    ref.id,
    call.owner,
    call.actor,
    call.region,
    call.deploymentRegion,
    call.leaseSeconds,
    call.scope,
    call.takeover,
    call.wait,
    call.ticket,
    call.replica,
    call.markAfterSeconds,
  ];
  // The line is served in its order, and a subtree takes its epic's lock whole.
  const shares = isShared(ref) && call.scope === "item" && !call.wait && call.ticket === null;
  const { claim: answer, anchored } = await callTogether<Answer>(db, TAKE_CLAIM, parameters, shares);
  if (!answer.granted && answer.reason === "moved") throw repositoryMoved();
  return answer.granted ? { ...answer, anchored } : answer;
}
