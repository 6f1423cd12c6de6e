/** Every write to a record passes the fence, in the transaction that writes (protocol 4). */

import { Problem } from "../contract/problem.ts";
import { admitsBelow, decideWrite, type FenceRefusal } from "../domain/fence.ts";
import { numberOfRef } from "../domain/record-key.ts";
import { findSubtreeClaim, lockClaim } from "../store/claims.ts";
import { inTransaction, type Trx } from "../store/database.ts";
import type { Caller } from "./caller.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import type { Deps } from "./deps.ts";

const ADVICE: Record<FenceRefusal, string> = {
  claim_required: "the record is claimed; send the holder's Fencing-Token, or wait until the claim ends",
  stale_token:
    "a newer claim was granted, so this token may not write any more; stop, and claim again if work is left",
  unissued_token:
    "no claim with this token was granted on the record; send the token that the grant answered",
  claim_released: "the claim of this token has ended; claim the record again before writing under a token",
  not_holder: "this fencing token was granted to another API token; claim the record yourself",
  foreign_region: "the claim is held in another region; write there",
};

/** Counts the refusal, and tells the writer what to do. */
export function refuseByFence({ metrics }: Deps, code: FenceRefusal): never {
  metrics.fenceRefused(code);
  throw new Problem(code, ADVICE[code]);
}

/** Under whose token a write passed. */
export interface Holder {
  readonly owner: string;
  readonly fence: number;
}

/** Runs a write under the record's lock, if the caller's token is admitted. */
export async function fencedWrite<T>(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  token: number | null,
  write: (trx: Trx, holder: Holder | null) => Promise<T>,
): Promise<T> {
  return inTransaction(deps.db, async (trx) => write(trx, await passFence(trx, deps, caller, target, token)));
}

/**
 * Takes the record's lock, and throws unless the caller's token is admitted. What follows in `trx` may write. Answers
 * the live claim under whose token it passed; null: it passed without one.
 */
export async function passFence(
  trx: Trx,
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  token: number | null,
): Promise<Holder | null> {
  const ref = refOf(target);
  const found = await lockClaim(trx, ref);
  const state = found && {
    mark: found.claim.fence,
    live: found.claim.live,
    region: found.claim.region,
    actor: found.claim.actor,
  };
  const verdict = decideWrite(state, { token, region: deps.region, actor: caller.actor });
  if (verdict.accepted && found?.claim.live) return { owner: found.claim.owner, fence: found.claim.fence };
  const number = numberOfRef(target);
  if (token !== null && number !== null) {
    const epic = await findSubtreeClaim(trx, target.repository.id, number, token);
    if (epic !== null && admitsBelow(epic, state, { token, region: deps.region, actor: caller.actor }))
      return { owner: epic.owner, fence: epic.mark };
  }
  if (verdict.accepted) return null;
  return refuseByFence(deps, verdict.code);
}
