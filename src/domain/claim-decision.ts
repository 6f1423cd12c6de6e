/** Whether a claim is granted (protocol 4). Losing is an answer, not an error. */

import { startsAttempt } from "./attempts.ts";
import type { ClaimFacts, ItemFacts, ItemReason } from "./why-not.ts";
import { reasonsAgainst } from "./why-not.ts";

export interface Claimant {
  readonly owner: string;
  readonly actor: string;
  readonly region: string;
}

export interface Grant {
  readonly granted: true;
  /** A new attempt: a marker is owed. Otherwise the same owner goes on after a lapse. */
  readonly newAttempt: boolean;
  readonly previous: { readonly owner: string; readonly fence: number; readonly lapsed: boolean } | null;
}

export interface Refusal {
  readonly granted: false;
  readonly reason: ItemReason;
  readonly retryAfterMs: number | null;
  readonly blockers: readonly number[];
}

export type ClaimDecision = Grant | Refusal;

const grant = (claim: ClaimFacts | null, claimant: Claimant): Grant => ({
  granted: true,
  newAttempt: startsAttempt(claim, claimant),
  previous: claim && { owner: claim.owner, fence: claim.fence, lapsed: claim.live },
});

const refuse = (
  reason: ItemReason,
  retryAfterMs: number | null = null,
  blockers: readonly number[] = [],
): Refusal => ({
  granted: false,
  reason,
  retryAfterMs,
  blockers,
});

const untilLapse = (claim: ClaimFacts | null, now: Date): number | null =>
  claim === null ? null : Math.max(1, claim.leaseExpiresAt.getTime() - now.getTime());

/**
 * An item: every rule of section 4. `deploymentRegion` is where claims made here are taken. By a stale mirror nothing is
 * decided: what it says of the item may have changed long ago. (`services/claim.ts` asks that first; the rest is SQL.)
 */
export function decideItemClaim(
  item: ItemFacts | null,
  claimant: Claimant,
  deploymentRegion: string,
  now: Date,
  mirrorIsStale = false,
): ClaimDecision {
  if (mirrorIsStale) return refuse("mirror_stale");
  if (item === null) return refuse("missing");
  if (claimant.region !== deploymentRegion) return refuse("foreign_region");
  const [first] = reasonsAgainst(item, { now, region: claimant.region });
  if (first === undefined) return grant(item.claim, claimant);
  return refuse(
    first.reason,
    first.reason === "contended" ? untilLapse(item.claim, now) : null,
    first.reason === "blocked" ? (first.on ?? []) : [],
  );
}

/** A plain memory record: it must exist and be free. */
export function decideRecordClaim(
  record: { readonly exists: boolean; readonly claim: ClaimFacts | null },
  claimant: Claimant,
  deploymentRegion: string,
  now: Date,
): ClaimDecision {
  if (!record.exists) return refuse("missing");
  if (claimant.region !== deploymentRegion) return refuse("foreign_region");
  const held = record.claim?.live === true && record.claim.leaseExpiresAt > now;
  return held ? refuse("contended", untilLapse(record.claim, now)) : grant(record.claim, claimant);
}
