/** Renews a lease (protocol 4). `superseded` is terminal: the caller stops at once. */

import type { RenewAnswer } from "../contract/claims.ts";
import { Problem } from "../contract/problem.ts";
import { clampLease, decideRenew } from "../domain/lease.ts";
import { findClaim, renewLease } from "../store/claims.ts";
import { inTransaction } from "../store/database.ts";
import { findRecord, lockRecord } from "../store/records.ts";
import type { Caller } from "./caller.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import type { Deps } from "./deps.ts";

export async function renew(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  request: { fencingToken: number; leaseSeconds?: number | undefined },
): Promise<RenewAnswer> {
  const ref = refOf(target);
  const leaseSeconds = clampLease(request.leaseSeconds, deps.lease);
  return inTransaction(deps.db, async (trx): Promise<RenewAnswer> => {
    await lockRecord(trx, ref);
    const found = await findClaim(trx, ref);
    if (!found && !(await findRecord(trx, ref))) return { granted: false, reason: "missing" };
    if (!found) return { granted: false, reason: "superseded" };
    const verdict = decideRenew(found.claim, request.fencingToken, caller.actor, found.now);
    if (verdict === "not_holder") throw notHolder();
    if (verdict === "superseded") return { granted: false, reason: "superseded" };
    const renewed = await renewLease(trx, ref, {
      fence: request.fencingToken,
      actor: caller.actor,
      leaseSeconds,
    });
    if (!renewed) return { granted: false, reason: "superseded" };
    return {
      granted: true,
      fencingToken: request.fencingToken,
      leaseSeconds,
      leaseExpiresAt: renewed.leaseExpiresAt.toISOString(),
      leaseShortened: renewed.leaseExpiresAt < renewed.previousLeaseExpiresAt,
      previousLeaseExpiresAt: renewed.previousLeaseExpiresAt.toISOString(),
    };
  });
}

export const notHolder = (): Problem =>
  new Problem("not_holder", "this fencing token was granted to another API token; claim the item yourself");
