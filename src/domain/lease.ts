/** Leases: how long a claim is granted for, and what a renewal answers (protocol 4). */

export interface LeaseBounds {
  readonly defaultSeconds: number;
  readonly maxSeconds: number;
}

/** Omitted means the default; more than the maximum is capped, not refused. Whole seconds from 1. */
export function clampLease(asked: number | undefined, bounds: LeaseBounds): number {
  return Math.min(asked ?? bounds.defaultSeconds, bounds.maxSeconds);
}

/** A claim as renew, release and status see it; times are the database's. */
export interface ClaimView {
  readonly fence: number;
  readonly live: boolean;
  readonly actor: string;
  readonly leaseExpiresAt: Date;
}

export type RenewVerdict = "renew" | "superseded" | "not_holder";

/**
 * `superseded` when the token is no longer the record's current one or its lease has lapsed: terminal.
 * A current token from another actor is `not_holder`: markers make tokens public.
 */
export function decideRenew(claim: ClaimView | null, token: number, actor: string, now: Date): RenewVerdict {
  if (claim === null || claim.fence !== token || !claim.live) return "superseded";
  if (claim.actor !== actor) return "not_holder";
  return claim.leaseExpiresAt.getTime() > now.getTime() ? "renew" : "superseded";
}

export type ReleaseVerdict = "release" | "stale" | "unclaimed" | "not_holder";

/** Release is idempotent and never lowers the mark; a lapsed holder may still release what nobody else took. */
export function decideRelease(claim: ClaimView | null, token: number, actor: string): ReleaseVerdict {
  if (claim === null) return "unclaimed";
  if (claim.fence !== token) return "stale";
  if (!claim.live) return "unclaimed";
  return claim.actor === actor ? "release" : "not_holder";
}

/** Held: live and not lapsed. A lapsed claim is `claimed: true, isHeld: false`. */
export const isHeld = (claim: { live: boolean; leaseExpiresAt: Date } | null, now: Date): boolean =>
  claim?.live === true && claim.leaseExpiresAt.getTime() > now.getTime();
