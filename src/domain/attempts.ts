/** Attempts: claim markers and grants, counted once per fence (protocol 4). There is no counter. */

export interface AttemptFacts {
  /** Fences of grants that were new attempts, after the last unpark. */
  readonly grants: readonly number[];
  /** Fences of trusted claim markers, after the last unpark. */
  readonly markers: readonly number[];
  /** Fences whose marker is still waiting in the outbox. */
  readonly unposted: readonly number[];
}

export type AttemptReading =
  | "never_claimed"
  | "claimed_but_unmarked"
  | "consistent"
  | "gap"
  | "marker_without_grant";

export interface Attempts {
  readonly count: number;
  readonly reading: AttemptReading;
}

/** How many attempts count, and what the comparison of markers with grants says (the protocol's table). */
export function countAttempts(facts: AttemptFacts): Attempts {
  const grants = new Set(facts.grants);
  const markers = new Set(facts.markers);
  const count = new Set([...grants, ...markers]).size;
  const promised = new Set(facts.unposted);
  const missing = [...grants].filter((fence) => !markers.has(fence) && !promised.has(fence));
  const extra = [...markers].filter((fence) => !grants.has(fence));
  if (count === 0) return { count, reading: "never_claimed" };
  if (extra.length > 0) return { count, reading: "marker_without_grant" };
  if (missing.length === 0) return { count, reading: "consistent" };
  return { count, reading: markers.size === 0 ? "claimed_but_unmarked" : "gap" };
}

/** An item at or over the threshold is poisoned: not offered, not granted (protocol 5). */
export const isPoison = (attempts: number, threshold: number): boolean => attempts >= threshold;

/**
 * Whether a grant starts a new attempt. The first time in an attempt that the same owner takes its own
 * lapsed item again, custody did not change; the second time it counts, for a crash loop must end.
 */
export function startsAttempt(
  previous: { owner: string; actor: string; live: boolean; reclaims: number } | null,
  claimant: { owner: string; actor: string },
): boolean {
  if (previous === null || !previous.live) return true;
  const sameOwner = previous.owner === claimant.owner && previous.actor === claimant.actor;
  return !(sameOwner && previous.reclaims === 0);
}
