/** Writes the resume block: only under a live claim's token, and only on items (protocol 2). */

import type { ResumeWrite } from "../contract/handover.ts";
import { Problem } from "../contract/problem.ts";
import { inTransaction, type Trx } from "../store/database.ts";
import { saveResume } from "../store/handover.ts";
import { lockHead, lockPull } from "../store/item-lock.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import type { Holder } from "./fenced-write.ts";
import type { ItemAt } from "./item-changes.ts";
import { reviewItems } from "./item-review.ts";

/** `holder`: under whose token this transaction passed the fence. Throws `claim_required` when under none. */
export async function writeResume(
  trx: Trx,
  { repository, number }: ItemAt,
  holder: Holder | null,
  resume: ResumeWrite,
): Promise<void> {
  if (holder === null) {
    throw new Problem(
      "claim_required",
      "a resume block is written only by the item's holder: claim the item and send the Fencing-Token",
    );
  }
  const { lastLocation, resumeNote } = resume;
  const location = {
    branch: lastLocation?.branch ?? null,
    pullNumber: lastLocation?.pullRequest ?? null,
    sha: lastLocation?.sha ?? null,
  };
  await saveResume(trx, repository.id, number, {
    location: lastLocation === undefined ? undefined : location,
    note: resumeNote,
    ...holder,
  });
  // A pull request that is recorded is the item's own.
  if (lastLocation !== undefined) await reviewItems(trx, repository, [number]);
}

/**
 * Runs a write that may record a pull request, or the branch that one comes from, under their locks, which come before
 * the item's: `takePull` takes them in this order.
 */
export async function recording<T>(
  deps: Deps,
  repository: Repository,
  resume: ResumeWrite | undefined,
  write: (deps: Deps) => Promise<T>,
): Promise<T> {
  const { branch = null, pullRequest: pull = null } = resume?.lastLocation ?? {};
  if (pull === null && branch === null) return write(deps);
  return inTransaction(deps.db, async (trx) => {
    if (branch !== null) await lockHead(trx, repository.id, branch);
    if (pull !== null) await lockPull(trx, repository.id, pull);
    return write({ ...deps, db: trx });
  });
}
