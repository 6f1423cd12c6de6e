/** The ready set and its verdict (protocol 6), from the facts of every live item. */

import { RadiusIndex } from "./blast-radius.ts";
import { isOpen } from "./blockers.ts";
import type { Defect } from "./defects.ts";
import { isHeld } from "./lease.ts";
import { priorityRank } from "./tags.ts";
import { type Asker, type ItemFacts, quarantineEnd, type Reason, reasonsAgainst } from "./why-not.ts";

export type Verdict = "ready" | "idle" | "overlapping" | "waiting" | "alarm";

export interface ReadySet {
  readonly verdict: Verdict;
  /** Every live item. */
  readonly pending: number;
  readonly ready: readonly ItemFacts[];
  /** Claimable, but their blast radius meets that of items in flight. */
  readonly overlapping: readonly { readonly number: number; readonly with: readonly number[] }[];
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

/** Whether such a defect takes its item out of the ready set. */
export const isExcluding = (code: string): boolean => EXCLUDING.has(code);

/** All reasons for an item, defects included: what `waiting` and `GET R/items/{n}` show. */
export function whyNotReady(item: ItemFacts, defects: readonly Defect[], asker: Asker): ReadyReason[] {
  const excluding = defects.filter((defect) => defect.number === item.number && EXCLUDING.has(defect.code));
  return [
    ...reasonsAgainst(item, asker),
    ...excluding.map((defect) => ({ reason: "defect" as const, detail: defect.detail })),
  ];
}

/** What is being worked on: under an unexpired lease, or lapsed but active (protocol 6, step 11). */
export const isInFlight = (item: ItemFacts, asker: Asker): boolean =>
  isHeld(item.claim, asker.now) || quarantineEnd(item, asker) > asker.now;

/** What can be merged now comes first; then orders by (priority, createdAt, number). */
export function byUrgency(a: ItemFacts, b: ItemFacts): number {
  return (
    Number(isResumable(b)) - Number(isResumable(a)) ||
    priorityRank(a.tags) - priorityRank(b.tags) ||
    a.createdAt.getTime() - b.createdAt.getTime() ||
    a.number - b.number
  );
}

/** Finishing it is the cheapest work there is (protocol 6). */
export const isResumable = (item: ItemFacts): boolean => item.review?.review === "resumable";

/** Work in flight that is not among the items: of another epic, or out of the reader's sight; in the way all the same. */
export interface FlightElsewhere {
  readonly number: number;
  readonly radius: readonly string[];
  /** Else only its pull request is open. */
  readonly atWork: boolean;
}

/**
 * Sorts items into the lists of `GET R/ready`: the live and the parked ones of a repository, or of a part of it. Then
 * `elsewhere` is what is in flight in the rest.
 */
export function readySet(
  items: readonly ItemFacts[],
  defects: readonly Defect[],
  asker: Asker,
  elsewhere: readonly FlightElsewhere[] = [],
): ReadySet {
  const enrolled = items.filter((item) => item.enrolled);
  const live = enrolled.filter((item) => item.state === null);
  const ready: ItemFacts[] = [];
  const waiting: { number: number; reasons: ReadyReason[] }[] = [];
  const inFlight: { number: number; leaseExpiresAt: Date; isHeld: boolean }[] = [];
  const awaitingAdmission: number[] = [];
  const resting: Judged[] = [];
  const worked = live.filter((item) => isInFlight(item, asker));
  const atWork = new RadiusIndex([...worked, ...elsewhere.filter((flight) => flight.atWork)]);
  // Work in a pull request is in the way of new work, but not of other work that lies in one: neither would ever go on.
  const underWay = new RadiusIndex([...worked, ...live.filter((item) => item.review !== null), ...elsewhere]);
  const overlapping: { number: number; with: number[] }[] = [];
  for (const item of [...live].sort(byUrgency)) {
    const reasons = whyNotReady(item, defects, asker);
    if (reasons.length === 0) {
      const meets = (item.review === null ? underWay : atWork).meets(item);
      if (meets.length === 0) ready.push(item);
      else overlapping.push({ number: item.number, with: meets });
    } else if (item.claim !== null && isInFlight(item, asker)) {
      const { leaseExpiresAt } = item.claim;
      inFlight.push({ number: item.number, leaseExpiresAt, isHeld: isHeld(item.claim, asker.now) });
    } else {
      resting.push({ item, reasons });
      if (reasons.some(({ reason }) => reason === "not_admitted")) awaitingAdmission.push(item.number);
      else waiting.push({ number: item.number, reasons });
    }
  }
  const parked = enrolled.filter((item) => item.state === "parked").map((item) => item.number);
  return {
    verdict: verdictOf({
      ready: ready.length,
      overlapping: overlapping.length,
      pending: live.length,
      resting,
      inFlight,
    }),
    pending: live.length,
    ready,
    overlapping,
    waiting,
    inFlight,
    awaitingAdmission,
    parked,
  };
}

/** An item that nobody works on and nobody may claim. */
interface Judged {
  readonly item: ItemFacts;
  readonly reasons: readonly ReadyReason[];
}

/**
 * `waiting` when everything pending is in flight, waits for a human's admission, or hangs (through any
 * number of blockers) on something that does; `alarm` when something starves.
 */
function verdictOf(facts: {
  ready: number;
  overlapping: number;
  pending: number;
  resting: readonly Judged[];
  inFlight: readonly { number: number }[];
}): Verdict {
  if (facts.ready > 0) return "ready";
  if (facts.overlapping > 0 || facts.resting.some(({ reasons }) => reasons.every(isResource)))
    return "overlapping";
  if (facts.pending === 0) return "idle";
  const moving = new Set(facts.inFlight.map(({ number }) => number));
  // An item moves when all it hangs on moves; repeat until nothing changes, so cycles never do.
  for (let left = facts.resting; ; ) {
    const still = left.filter((judged) => {
      if (!judged.reasons.every((reason) => moves(reason, judged.item, moving))) return true;
      moving.add(judged.item.number);
      return false;
    });
    if (still.length === 0) return "waiting";
    if (still.length === left.length) return "alarm";
    left = still;
  }
}

/** Nothing but a resource that another item holds is in its way: it is a candidate all the same. */
const isResource = ({ reason }: ReadyReason): boolean => reason === "resource_unavailable";

function moves(reason: ReadyReason, item: ItemFacts, moving: ReadonlySet<number>): boolean {
  switch (reason.reason) {
    case "foreign_region":
      return true; // claimable elsewhere
    case "in_review":
      return true; // people and checks have it
    case "not_admitted":
      return true; // a human's turn; what else holds the item up is judged by itself
    case "poison":
      return item.review?.review === "in_review"; // judged when that has come to its end
    case "grouping":
    case "not_quiesced":
      return moving.size > 0; // moves with its parts, each of which is judged itself; never alone
    case "quarantined":
    case "parked": // the sweep does it when its work has come to its end
    case "ancestor_claimed":
    case "resource_unavailable":
    case "contended":
      return true; // somebody works on it, above it, or is about to
    case "blocked":
      if (item.hold !== null) return false; // nobody but who lifts the hold moves it
      // Of a blocker in another repository nobody here knows whether it moves.
      return item.blockers.filter(isOpen).every(({ number, status, hidden }) =>
        // What its reader may not see is taken to move, unless it is known to rest.
        hidden ? status === "waiting" : number !== null && moving.has(number),
      );
    default:
      return false;
  }
}
