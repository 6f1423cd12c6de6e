/** What the target of a `blockedBy` edge means for authoring the edge and for its dependent (protocol 5). */

import { type ItemState, isTerminalTag } from "./item-state.ts";
import { tagValues } from "./tags.ts";

export type BlockerStatus = "satisfied" | "waiting" | "stalled" | "missing" | "invalid" | "unknown";

/** What is known of a blocker: an item, an issue that is no item, or nothing. */
export type BlockerFacts =
  | { readonly kind: "item"; readonly state: ItemState; readonly tags: readonly string[] }
  | { readonly kind: "issue"; readonly open: boolean; readonly stateReason: string | null }
  /** No such record here. */
  | { readonly kind: "missing" }
  /** In a repository where Leasehold is not installed, and GitHub tells nothing of it: it blocks, and says so. */
  | { readonly kind: "unknown" };

/** What brought a blocker to the end at which its dependents stall: what can be done about it depends on that. */
export type Stall = "parked" | "cancelled" | "gone";

/** GitHub's reasons for closing an issue; whatever else stands there says how it went away. */
const CLOSED_AS: readonly (string | null)[] = ["completed", "not_planned", "duplicate", "reopened", null];

/** Meant for blockers that are `stalled`. `reason`: why its issue is closed, or how it went away. */
export function stallOf({ state, reason }: { state: ItemState; reason: string | null }): Stall {
  if (!CLOSED_AS.includes(reason)) return "gone";
  return state === "parked" ? "parked" : "cancelled";
}

/** One line of the protocol's table, by the target's state. */
export function blockerStatus(facts: BlockerFacts): BlockerStatus {
  switch (facts.kind) {
    case "missing":
      return "missing";
    case "unknown":
      return "unknown";
    case "issue":
      // An issue that is no item satisfies when it was closed as completed.
      if (facts.open) return "waiting";
      return facts.stateReason === "completed" || facts.stateReason === null ? "satisfied" : "stalled";
    case "item": {
      const states = tagValues(facts.tags, "state:");
      if (states.length > 1 || states.some((state) => !isTerminalTag(state))) return "invalid";
      if (facts.state === "complete") return "satisfied";
      return facts.state === null ? "waiting" : "stalled";
    }
  }
}

export interface Blocker {
  /** The item or issue number, or null when the target is in another repository. */
  readonly number: number | null;
  readonly target: string;
  readonly status: BlockerStatus;
  /** Of a stalled one. */
  readonly stall: Stall | null;
  readonly rulingOwner: string | null;
  readonly question: string | null;
  /** Out of the reader's sight: nothing of it is told but that it is in the way. */
  readonly hidden?: boolean;
}

export const isOpen = (blocker: Blocker): boolean => blocker.status !== "satisfied";

/** How people are told of a blocker: `#3`, or its whole key when it is elsewhere. */
export const blockerName = ({ number, target }: Pick<Blocker, "number" | "target">): string =>
  number === null ? target : `#${number}`;

/** What a person should know of open blockers in other repositories, which are named in no list of numbers. */
export function elsewhereText(open: readonly Blocker[]): string | null {
  const lines = open
    .filter(({ number }) => number === null)
    .map(({ target, status }) =>
      status === "unknown"
        ? `${target} blocks: Leasehold is not installed there and cannot see its state; install it there, or mark it as ` +
          "a blocker on GitHub, whose list Leasehold reads"
        : `${target} is not complete`,
    );
  return lines.length === 0 ? null : lines.join("; ");
}

/** Why a stalled blocker will not free its dependents by itself, and what would. */
export function stallText({
  stall,
  rulingOwner,
  question,
}: Omit<Blocker, "number" | "target" | "status">): string {
  switch (stall) {
    case "gone":
      return "is gone from GitHub: remove the edge";
    case "cancelled":
      return "is cancelled: reopen it, or remove the edge";
    default:
      return question
        ? `is parked; ${rulingOwner ?? "somebody"} must rule: ${question}`
        : `is parked: ${rulingOwner ?? "a human"} must unpark it, or the edge be removed`;
  }
}

export type EdgeRefusal<Step> =
  | { readonly code: "edge_refused"; readonly detail: string }
  | { readonly code: "cycle"; readonly cycle: readonly Step[] };

/**
 * Whether a `blockedBy` edge may be authored. `path` is a chain of edges that already leads from the
 * blocker back to the dependent (the dependent alone, when it would block itself), or null: closing it
 * would be a cycle.
 */
export function judgeEdge<Step>(
  dependent: Step,
  blocker: Pick<Blocker, "number" | "target" | "status"> & Partial<Pick<Blocker, "stall">>,
  path: readonly Step[] | null,
): EdgeRefusal<Step> | null {
  const name = blockerName(blocker);
  const cycle = judgePath(dependent, path);
  if (path?.length === 1) return cycle;
  switch (blocker.status) {
    case "missing":
      return { code: "edge_refused", detail: `${name} does not exist; file it first, then block on it` };
    case "stalled":
      return {
        code: "edge_refused",
        detail: `${name} ${refusedFor(blocker.stall ?? null)}; it would never free the item`,
      };
    case "invalid":
      return {
        code: "edge_refused",
        detail: `${name} carries an unknown or doubled state: tag; mend that first`,
      };
    case "unknown":
    case "waiting":
    case "satisfied":
      return cycle;
  }
}

const refusedFor = (stall: Stall | null): string =>
  stall === "gone" ? "is gone from GitHub" : `is ${stall ?? "parked"}`;

/** Whether an edge of any relation would close a circle. */
export const judgePath = <Step>(from: Step, path: readonly Step[] | null): EdgeRefusal<Step> | null =>
  path === null ? null : { code: "cycle", cycle: [from, ...path] };
