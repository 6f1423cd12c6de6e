/** Renews a lease (protocol 4). `superseded` is terminal: the caller stops at once. */

import type { RenewAnswer } from "../contract/claims.ts";
import { Problem } from "../contract/problem.ts";
import { clampLease } from "../domain/lease.ts";
import { renewClaim } from "../store/keep-claim.ts";
import type { Caller } from "./caller.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import type { Deps } from "./deps.ts";

export async function renew(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  request: { fencingToken: number; leaseSeconds?: number | undefined },
): Promise<RenewAnswer> {
  const leaseSeconds = clampLease(request.leaseSeconds, deps.lease);
  const renewed = await renewClaim(deps.db, refOf(target), {
    fence: request.fencingToken,
    actor: caller.actor,
    leaseSeconds,
  });
  if (renewed.verdict === "not_holder") throw notHolder();
  if (renewed.verdict !== "renew") return { granted: false, reason: renewed.verdict };
  const leaseExpiresAt = new Date(renewed.leaseExpiresAt);
  const previousLeaseExpiresAt = new Date(renewed.previousLeaseExpiresAt);
  return {
    granted: true,
    fencingToken: request.fencingToken,
    leaseSeconds,
    leaseExpiresAt: leaseExpiresAt.toISOString(),
    leaseShortened: leaseExpiresAt < previousLeaseExpiresAt,
    previousLeaseExpiresAt: previousLeaseExpiresAt.toISOString(),
  };
}

export const notHolder = (): Problem =>
  new Problem("not_holder", "this fencing token was granted to another API token; claim the item yourself");
