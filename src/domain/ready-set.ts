/** The ready set and its verdict (protocol 6), from the facts of every live item. */

import type { Defect } from "./defects.ts";
import { priorityRank } from "./tags.ts";
import { type Asker, type ItemFacts, type Reason, reasonsAgainst } from "./why-not.ts";

export type Verdict = "ready" | "idle" | "overlapping" | "waiting" | "alarm";

export interface ReadySet {
  readonly verdict: Verdict;
  /** Every live item. */
  readonly pending: number;
  readonly ready: readonly ItemFacts[];
  readonly waiting: readonly { readonly number: number; readonly reasons: readonly ReadyReason[] }[];
  readonly inFlight: readonly {
    readonly number: number;
    readonly leaseExpiresAt: Date;
    readonly isHeld: boolean;
  }[];
  readonly awaitingAdmission: readonly number[];
  readonly parked: readonly number[];
}

/** A reason of the rules, or that a defect takes the item out of the ready set. */
export type ReadyReason = Reason | { readonly reason: "defect"; readonly detail: string };

/** Tag, state, blocker and base-branch defects take an item out of the ready set; the others only report. */
const EXCLUDING: ReadonlySet<string> = new Set([
  "missing_tag",
  "duplicate_tag",
  "unknown_state",
  "phase_carries_state",
  "dangling_blocker",
  "stalled_blocker",
  "dependency_cycle",
  "epic_targets_main",
  "wrong_base",
]);

/** All reasons for an item, defects included: what `waiting` and `GET R/items/{n}` show. */
export function whyNotReady(item: ItemFacts, defects: readonly Defect[], asker: Asker): ReadyReason[] {
  const excluding = defects.filter((defect) => defect.number === item.number && EXCLUDING.has(defect.code));
  return [
    ...reasonsAgainst(item, asker),
    ...excluding.map((defect) => ({ reason: "defect" as const, detail: defect.detail })),
  ];
}

/** Orders by (priority, createdAt, number). */
export function byUrgency(a: ItemFacts, b: ItemFacts): number {
  return (
    priorityRank(a.tags) - priorityRank(b.tags) ||
    a.createdAt.getTime() - b.createdAt.getTime() ||
    a.number - b.number
  );
}

/** Sorts the items of a repository into the lists of `GET R/ready`. `items` are the live and the parked ones. */
export function readySet(items: readonly ItemFacts[], defects: readonly Defect[], asker: Asker): ReadySet {
  const enrolled = items.filter((item) => item.enrolled);
  const live = enrolled.filter((item) => item.state === null);
  const ready: ItemFacts[] = [];
  const waiting: { number: number; reasons: ReadyReason[] }[] = [];
  const inFlight: { number: number; leaseExpiresAt: Date; isHeld: boolean }[] = [];
  const awaitingAdmission: number[] = [];
  for (const item of [...live].sort(byUrgency)) {
    const reasons = whyNotReady(item, defects, asker);
    if (reasons.length === 0) ready.push(item);
    else if (item.claim !== null && reasons.some(({ reason }) => reason === "contended")) {
      inFlight.push({ number: item.number, leaseExpiresAt: item.claim.leaseExpiresAt, isHeld: true });
    } else if (reasons.some(({ reason }) => reason === "not_admitted")) awaitingAdmission.push(item.number);
    else waiting.push({ number: item.number, reasons });
  }
  const parked = enrolled.filter((item) => item.state === "parked").map((item) => item.number);
  const moving = new Set([...inFlight.map(({ number }) => number), ...awaitingAdmission]);
  return {
    verdict: verdictOf({ ready: ready.length, pending: live.length, waiting, moving }),
    pending: live.length,
    ready,
    waiting,
    inFlight,
    awaitingAdmission,
    parked,
  };
}

/**
 * `waiting` when everything pending is in flight, waits for a human's admission, or hangs (through any
 * number of blockers) on something that does; `alarm` when something starves.
 */
function verdictOf(facts: {
  ready: number;
  pending: number;
  waiting: readonly { number: number; reasons: readonly ReadyReason[] }[];
  moving: ReadonlySet<number>;
}): Verdict {
  if (facts.ready > 0) return "ready";
  if (facts.pending === 0) return "idle";
  const moving = new Set(facts.moving);
  // An item becomes "moving" when all it hangs on moves; repeat until nothing changes, so cycles never do.
  let left = facts.waiting;
  for (;;) {
    const still = left.filter((entry) => !entry.reasons.every((reason) => moves(reason, moving)));
    if (still.length === 0) return "waiting";
    if (still.length === left.length) return "alarm";
    for (const entry of left) if (!still.includes(entry)) moving.add(entry.number);
    left = still;
  }
}

function moves(reason: ReadyReason, moving: ReadonlySet<number>): boolean {
  switch (reason.reason) {
    case "foreign_region":
      return true; // claimable elsewhere
    case "grouping":
      return true; // moves with its parts, each of which is judged itself
    case "blocked":
      return (reason.on ?? []).length > 0 && (reason.on ?? []).every((number) => moving.has(number));
    default:
      return false;
  }
}
