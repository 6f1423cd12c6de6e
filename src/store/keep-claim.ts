/** Renewing and releasing a claim, one call each (`renew_claim`, `release_claim` in migrations/0016 and 0021). */

import type { ReleaseVerdict, RenewVerdict } from "../domain/lease.ts";
import type { RecordRef } from "../domain/record-key.ts";
import { callTogether, isShared, type SharedCall } from "./call.ts";
import type { Db } from "./database.ts";
import { repositoryMoved } from "./records.ts";

/** `missing`: neither a claim nor a record is there. */
export type RenewRow =
  | {
      readonly verdict: "renew";
      /** Times as PostgreSQL's JSON writes them. */
      readonly leaseExpiresAt: string;
      readonly previousLeaseExpiresAt: string;
    }
  | { readonly verdict: Exclude<RenewVerdict, "renew"> | "missing" };

const RENEW_CLAIM: SharedCall = {
  name: "renew_claim",
  text: "select renew_claim($1, $2, $3, $4, $5, $6) as answer",
};

/** Moves the lease's end, if the token is current, the actor is its holder and the lease has not lapsed. */
export async function renewClaim(
  db: Db,
  ref: RecordRef,
  renewal: { readonly fence: number; readonly actor: string; readonly leaseSeconds: number },
): Promise<RenewRow> {
  const { repositoryId, topic, id } = ref;
  const { fence, actor, leaseSeconds } = renewal;
  const row = await callTogether<RenewRow | { verdict: "moved" }>(
    db,
    RENEW_CLAIM,
    [repositoryId, topic, id, fence, actor, leaseSeconds],
    isShared(ref),
  );
  if (row.verdict === "moved") throw repositoryMoved();
  return row;
}

export interface Release {
  readonly fence: number;
  readonly actor: string;
  readonly note: string | null;
  /** The caller parks the item in the same transaction if this was its last attempt. */
  readonly parks: boolean;
}

/**
 * `poisoned`: this was the item's last attempt, or a human asked for it to be parked. It was released, without an outcome, if the caller parks; otherwise
 * nothing was changed. `missing`: as for a renewal.
 */
export type ReleaseRow = ReleaseVerdict | "missing" | "poisoned";

const RELEASE_CLAIM: SharedCall = {
  name: "release_claim",
  text: "select release_claim($1, $2, $3, $4, $5, $6, $7) as answer",
};

/** Ends the claim under its token and promises the outcome comment of an item, or says why not. */
export async function releaseClaim(
  db: Db,
  ref: RecordRef,
  { fence, actor, note, parks }: Release,
): Promise<ReleaseRow> {
  const { repositoryId, topic, id } = ref;
  const row = await callTogether<ReleaseRow | "moved">(
    db,
    RELEASE_CLAIM,
    [repositoryId, topic, id, fence, actor, note, parks],
    isShared(ref),
  );
  if (row === "moved") throw repositoryMoved();
  return row;
}
