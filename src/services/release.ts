/** Releases a claim (protocol 4): idempotent, never lowers the mark; a poisoned item is parked at once. */

import type { ReleaseAnswer } from "../contract/claims.ts";
import { releasedComment } from "../domain/comments.ts";
import { decideRelease } from "../domain/lease.ts";
import { numberOfRef } from "../domain/record-key.ts";
import { endClaim, findClaim } from "../store/claims.ts";
import { inTransaction, type Trx } from "../store/database.ts";
import { findItem } from "../store/items.ts";
import { promise } from "../store/outbox.ts";
import { findRecord, lockRecord } from "../store/records.ts";
import type { Caller } from "./caller.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import type { Deps } from "./deps.ts";
import { outcomePromise } from "./item-changes.ts";
import { notHolder } from "./renew.ts";
import { parkIfPoisoned } from "./sweep.ts";

export async function release(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  request: { fencingToken: number; note?: string | undefined },
): Promise<ReleaseAnswer> {
  const ref = refOf(target);
  const answer = await inTransaction(deps.db, async (trx): Promise<ReleaseAnswer> => {
    await lockRecord(trx, ref);
    const found = await findClaim(trx, ref);
    if (!found && !(await findRecord(trx, ref))) return { released: false, reason: "missing" };
    const verdict = decideRelease(found?.claim ?? null, request.fencingToken, caller.actor);
    if (verdict === "not_holder") throw notHolder();
    if (verdict !== "release" || !found)
      return { released: false, reason: verdict === "stale" ? "stale" : "unclaimed" };
    await endClaim(trx, ref, request.fencingToken, "released");
    const number = numberOfRef(target);
    if (number !== null) await afterRelease(trx, target, number, found.claim.owner, request);
    return { released: true };
  });
  if (answer.released) deps.wake.outbox();
  return answer;
}

/** One outcome comment either way: parked, when this was the last attempt, or released. */
async function afterRelease(
  trx: Trx,
  { repository }: ClaimTarget,
  number: number,
  owner: string,
  request: { fencingToken: number; note?: string | undefined },
): Promise<void> {
  const note = request.note ?? null;
  if (await parkIfPoisoned(trx, repository, number, note)) return;
  const item = await findItem(trx, repository.id, number);
  if (repository.installationId === null || item?.state !== null) return;
  await promise(trx, {
    repositoryId: repository.id,
    issueNumber: number,
    promise: outcomePromise(number, request.fencingToken, "released"),
    effect: { kind: "comment", body: releasedComment({ number, owner, fence: request.fencingToken }, note) },
  });
}
