/** The states of an item (protocol 2 and 8). Absence means live; the vocabulary of tags is closed. */

/** Null is live. `cancelled` has no tag: its issue was closed as not planned, or is gone. */
export type ItemState = "complete" | "parked" | "cancelled" | null;

const TERMINAL_TAGS = ["complete", "parked"] as const;
export const isTerminalTag = (value: string): boolean => (TERMINAL_TAGS as readonly string[]).includes(value);

/** The `state:` tags that say this state. */
export const stateTags = (state: ItemState): string[] =>
  state === "complete" || state === "parked" ? [state] : [];

/** Roles are derived for orchestrators, never stored (protocol 9). */
export type Role = "queue" | "work" | "review" | "blocked" | "terminal";

/** What an item's role hangs on. */
export interface RoleFacts {
  readonly state: ItemState;
  /** Under an unexpired lease of its own. */
  readonly held: boolean;
  /** Somebody works on it under the live claim of an epic above it. */
  readonly startedAbove: boolean;
  /** An orchestrator put it on hold. */
  readonly onHold: boolean;
  /** Its own pull request is open. */
  readonly pullOpen: boolean;
}

export function roleOf(item: RoleFacts): Role {
  if (item.held) return "work";
  if (item.state === "complete" || item.state === "cancelled") return "terminal";
  if (item.state === "parked" || item.onHold) return "blocked";
  if (item.startedAbove) return "work";
  return item.pullOpen ? "review" : "queue";
}
