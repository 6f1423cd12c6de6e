/**
 * Why an item cannot be claimed: the one list of rules behind the refusal of a claim, the ready set and
 * the `reasons` of an item, so that the three cannot disagree (protocol 4 and 6).
 */

import { isPoison } from "./attempts.ts";
import { type Blocker, elsewhereText, isOpen } from "./blockers.ts";
import { isGrouping } from "./grouping.ts";
import type { ItemState, RoleFacts } from "./item-state.ts";
import { isHeld } from "./lease.ts";
import { type ItemReview, waitsText } from "./review.ts";
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
  /** How many items are `partOf` this one, and how many of them are neither complete nor cancelled. */
  readonly parts: number;
  readonly openParts: number;
  /** An item integrates this one. */
  readonly integrated: boolean;
  readonly blockers: readonly Blocker[];
  readonly attempts: number;
  readonly threshold: number;
  readonly claim: ClaimFacts | null;
  readonly rulingOwner: string | null;
  readonly question: string | null;
  readonly grouping: GroupingFacts;
  /** When its work was last seen moving: a push to its branch, its pull request. */
  readonly activeAt: Date | null;
  readonly quarantineSeconds: number;
  /** An orchestrator put it on hold; null: it is not. */
  readonly hold: Hold | null;
  /** Somebody works on it under the live claim of an epic above it. */
  readonly startedAbove: boolean;
  /** The paths that it is anchored to. Of research items: none (protocol 6). */
  readonly radius: readonly string[];
  /** What its own open pull requests mean for it; null: none is open. */
  readonly review: ItemReview | null;
  /** A human asked by label for it to be parked, while it was worked on. `at` is GitHub's time. */
  readonly parkAsked: { readonly by: string; readonly at: Date } | null;
  /** The resources that it needs and other items hold. */
  readonly takenResources: readonly string[];
}

export interface Hold {
  readonly by: string;
  readonly at: Date;
  readonly note: string | null;
}

/** What the item's place among others means for it now; times and claims are those of the moment. */
export interface GroupingFacts {
  /** A subtree claim is held above it. */
  readonly claimedAbove: boolean;
  /** A subtree claim above it waits in line: no new grants below. */
  readonly queuedAbove: boolean;
  /** The integration item of a grouping that it belongs to is being worked. */
  readonly integrating: boolean;
  /** It is an integration item, and its fan-out is incomplete or being worked. */
  readonly fanOutOpen: boolean;
  /** Something below it is held. */
  readonly heldBelow: boolean;
}

export const ALONE: GroupingFacts = {
  claimedAbove: false,
  queuedAbove: false,
  integrating: false,
  fanOutOpen: false,
  heldBelow: false,
};

/** However lively the work, an hour after the lapse the item is free. */
const MAX_QUARANTINE_MS = 3_600_000;

export type ItemReason =
  | "missing"
  | "complete"
  | "parked"
  | "closed"
  | "foreign_region"
  | "grouping"
  | "not_admitted"
  | "blocked"
  | "in_review"
  | "poison"
  | "ancestor_claimed"
  | "not_quiesced"
  | "quarantined"
  | "contended"
  | "resource_unavailable";

export interface Reason {
  readonly reason: ItemReason;
  /** The items that it hangs on. */
  readonly on?: readonly number[];
  readonly rulingOwner?: string | null;
  readonly question?: string | null;
  /** The resources that it hangs on. */
  readonly resources?: readonly string[];
  /** What a person should know beside it. */
  readonly detail?: string;
}

export interface Asker {
  readonly now: Date;
  /** Null: any region will do. */
  readonly region: string | null;
  /** Who would claim, and how; nobody in particular when the ready set asks. */
  readonly claimant?: {
    readonly owner: string;
    readonly actor: string;
    readonly scope: "item" | "subtree";
    readonly takeover: boolean;
  };
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
  const subtree = asker.claimant?.scope === "subtree";
  if (isGrouping(item) && !subtree) reasons.push({ reason: "grouping" });
  if (!item.admitted) reasons.push({ reason: "not_admitted" });
  if (item.hold) reasons.push({ reason: "blocked", on: [], detail: holdText(item.hold) });
  const open = item.blockers.filter(isOpen);
  if (open.length > 0) {
    const elsewhere = elsewhereText(open);
    const stalled = open.find((blocker) => blocker.status === "stalled");
    reasons.push({
      reason: "blocked",
      on: numbers(open),
      ...(elsewhere === null ? {} : { detail: elsewhere }),
      ...(stalled ? { rulingOwner: stalled.rulingOwner, question: stalled.question } : {}),
    });
  }
  const held = isHeld(item.claim, asker.now);
  if (held) reasons.push({ reason: "contended" });
  if (item.parkAsked && !held) {
    const detail = `@${item.parkAsked.by} labelled it to be parked; the sweep does it when its work has come to its end`;
    reasons.push({ reason: "parked", rulingOwner: item.parkAsked.by, question: null, detail });
  }
  // Its holder goes on; for everybody else others are to say something first, the same owner included.
  if (item.review?.review === "in_review" && !held) {
    const { pull, waits } = item.review;
    reasons.push({ reason: "in_review", detail: waitsText(pull, waits) });
  }
  // The last attempt runs to its end; only then is the item poisoned.
  if (isPoison(item.attempts, item.threshold) && !held) reasons.push({ reason: "poison" });
  const { grouping } = item;
  if (grouping.claimedAbove) reasons.push({ reason: "ancestor_claimed" });
  if (grouping.queuedAbove && !held) reasons.push({ reason: "contended" });
  if (grouping.integrating || grouping.fanOutOpen) reasons.push({ reason: "not_quiesced" });
  if (subtree && grouping.heldBelow && !held) reasons.push({ reason: "contended" });
  if (quarantineEnd(item, asker) > asker.now) reasons.push({ reason: "quarantined" });
  // Who holds it has what it needs; for others it is the last thing that is asked.
  if (item.takenResources.length > 0 && !held) {
    const resources = item.takenResources;
    const detail = `another item holds ${resources.join(", ")}`;
    reasons.push({ reason: "resource_unavailable", resources, detail });
  }
  return reasons;
}

const holdText = ({ by, at, note }: Hold): string =>
  `on hold since ${at.toISOString()} by ${by}${note ? `: ${note}` : ""}; the trigger resume lifts it`;

/** What the item's role hangs on (protocol 9). */
export const roleFacts = (item: ItemFacts, now: Date): RoleFacts => ({
  state: item.state,
  held: isHeld(item.claim, now),
  startedAbove: item.startedAbove,
  onHold: item.hold !== null,
  pullOpen: item.review !== null,
});

/** What is held, still moves after a lapse, or waits for people and checks runs to its own end before it is parked. */
export const isLeftAlone = (item: ItemFacts, now: Date): boolean =>
  isHeld(item.claim, now) ||
  quarantineEnd(item, { now, region: null }) > now ||
  item.review?.review === "in_review";

/**
 * Until when others are kept from an item that lapsed but is active: its lease ended, its work goes on. Never the
 * same owner, and not whoever takes over on purpose. The epoch when it is free.
 */
export function quarantineEnd(
  item: Pick<ItemFacts, "claim" | "activeAt" | "quarantineSeconds">,
  asker: Asker,
): Date {
  const { claim, activeAt } = item;
  const { claimant } = asker;
  const free = new Date(0);
  if (
    !claim?.live ||
    activeAt === null ||
    activeAt <= claim.leaseExpiresAt ||
    claim.leaseExpiresAt > asker.now
  )
    return free;
  if (claimant?.takeover || (claimant?.owner === claim.owner && claimant?.actor === claim.actor)) return free;
  const bySign = activeAt.getTime() + item.quarantineSeconds * 1000;
  return new Date(Math.min(bySign, claim.leaseExpiresAt.getTime() + MAX_QUARANTINE_MS));
}
