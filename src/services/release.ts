/** Releases a claim (protocol 4): idempotent, never lowers the mark; a poisoned item is parked at once. */

import type { ReleaseAnswer } from "../contract/claims.ts";
import { numberOfRef } from "../domain/record-key.ts";
import { inTransaction } from "../store/database.ts";
import { type Release, type ReleaseRow, releaseClaim } from "../store/keep-claim.ts";
import type { Caller } from "./caller.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import type { Deps } from "./deps.ts";
import { notHolder } from "./renew.ts";
import { parkIfDue } from "./sweep.ts";

/** One outcome comment either way: parked, when this was the last attempt, or released. */
export async function release(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  request: { fencingToken: number; note?: string | undefined },
): Promise<ReleaseAnswer> {
  const asked: Release = {
    fence: request.fencingToken,
    actor: caller.actor,
    note: request.note ?? null,
    parks: false,
  };
  const first = await releaseClaim(deps.db, refOf(target), asked);
  const row = first === "poisoned" ? await releaseAndPark(deps, target, asked) : first;
  if (row === "not_holder") throw notHolder();
  if (row !== "release" && row !== "poisoned") return { released: false, reason: row };
  deps.wake.outbox();
  return { released: true };
}

/** Decided anew, because the lock was let go meanwhile; what parks is one transaction with what releases. */
const releaseAndPark = (deps: Deps, target: ClaimTarget, asked: Release): Promise<ReleaseRow> =>
  inTransaction(deps.db, async (trx) => {
    const row = await releaseClaim(trx, refOf(target), { ...asked, parks: true });
    const number = numberOfRef(target);
    if (row === "poisoned" && number !== null) await parkIfDue(trx, target.repository, number, asked.note);
    return row;
  });
