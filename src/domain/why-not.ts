/**
 * Why an item cannot be claimed: the one list of rules behind the refusal of a claim, the ready set and
 * the `reasons` of an item, so that the three cannot disagree (protocol 4 and 6).
 */

import { isPoison } from "./attempts.ts";
import { type Blocker, isOpen } from "./blockers.ts";
import type { ItemState } from "./item-state.ts";
import { tagValue } from "./tags.ts";

export interface ClaimFacts {
  readonly fence: number;
  readonly live: boolean;
  readonly owner: string;
  readonly actor: string;
  readonly region: string;
  readonly leaseExpiresAt: Date;
  readonly reclaims: number;
}

/** Everything the rules ask about an item. */
export interface ItemFacts {
  readonly number: number;
  readonly enrolled: boolean;
  readonly admitted: boolean;
  readonly state: ItemState;
  readonly issueOpen: boolean;
  readonly tags: readonly string[];
  readonly createdAt: Date;
  /** How many items are `partOf` this one; above zero it is a grouping. */
  readonly parts: number;
  readonly blockers: readonly Blocker[];
  readonly attempts: number;
  readonly threshold: number;
  readonly claim: ClaimFacts | null;
  readonly rulingOwner: string | null;
  readonly question: string | null;
}

export type ItemReason =
  | "missing"
  | "complete"
  | "parked"
  | "closed"
  | "foreign_region"
  | "grouping"
  | "not_admitted"
  | "blocked"
  | "poison"
  | "contended";

export interface Reason {
  readonly reason: ItemReason;
  /** The items that it hangs on. */
  readonly on?: readonly number[];
  readonly rulingOwner?: string | null;
  readonly question?: string | null;
}

export interface Asker {
  readonly now: Date;
  /** Null: any region will do. */
  readonly region: string | null;
}

const numbers = (blockers: readonly Blocker[]): number[] =>
  blockers.flatMap((blocker) => (blocker.number === null ? [] : [blocker.number]));

/** Every reason against claiming the item now, the one that a refusal names first. Empty: claimable. */
export function reasonsAgainst(item: ItemFacts, asker: Asker): Reason[] {
  if (!item.enrolled) return [{ reason: "missing" }];
  if (item.state === "complete") return [{ reason: "complete" }];
  if (item.state === "parked") {
    return [{ reason: "parked", rulingOwner: item.rulingOwner, question: item.question }];
  }
  if (item.state === "cancelled" || !item.issueOpen) return [{ reason: "closed" }];

  const reasons: Reason[] = [];
  const home = tagValue(item.tags, "homeRegion:");
  if (asker.region !== null && home !== null && home !== asker.region)
    reasons.push({ reason: "foreign_region" });
  if (item.parts > 0) reasons.push({ reason: "grouping" });
  if (!item.admitted) reasons.push({ reason: "not_admitted" });
  const open = item.blockers.filter(isOpen);
  if (open.length > 0) {
    const stalled = open.find((blocker) => blocker.status === "stalled");
    reasons.push({
      reason: "blocked",
      on: numbers(open),
      ...(stalled ? { rulingOwner: stalled.rulingOwner, question: stalled.question } : {}),
    });
  }
  const held = item.claim !== null && item.claim.live && item.claim.leaseExpiresAt > asker.now;
  // The last attempt runs to its end; only then is the item poisoned.
  if (isPoison(item.attempts, item.threshold) && !held) reasons.push({ reason: "poison" });
  if (held) reasons.push({ reason: "contended" });
  return reasons;
}
