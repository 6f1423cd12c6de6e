/** Keeps the check run `leasehold/claim` on a pull request as the facts are now (protocol 8). */

import { CLAIM_CHECK, type ClaimCheck, claimCheck } from "../domain/claim-check.ts";
import { hasWrite, mayBeHuman } from "../domain/human.ts";
import type { Client } from "../github/connection.ts";
import { isAbsent } from "../github/failure.ts";
import { readPermission } from "../github/reads.ts";
import { findCheckRun } from "../github/review-reads.ts";
import { createCheckRun, updateCheckRun } from "../github/writes.ts";
import {
  type ClaimCheckFacts,
  findClaimCheckFacts,
  saveByHuman,
  saveClaimCheck,
} from "../store/claim-checks.ts";
import { lockItems } from "../store/item-lock.ts";
import { markMoved } from "../store/pull-readings.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { reviewItems } from "./item-review.ts";

/** `mayStand`: it was tried before, so that a run of ours may be there that we do not know of. */
export async function keepClaimCheck(
  deps: Deps,
  client: Client,
  repository: Repository,
  { pull, mayStand }: { pull: number; mayStand: boolean },
): Promise<void> {
  const facts = await findClaimCheckFacts(deps.db, repository.id, pull);
  if (facts === null) return;
  const check = await judge(deps, client, repository, facts);
  const said = `${check.conclusion}\n${check.title}\n${check.summary}`;
  const { head, written } = facts;
  const known = written?.head === head ? written : null;
  if (known?.said === said) return;

  const run = { name: CLAIM_CHECK, externalId: `pull:${pull}`, head, ...check };
  let runId = known?.runId ?? null;
  if (runId === null && mayStand) {
    runId = await findCheckRun(client, repository, { ...run, appId: deps.github.app?.appId ?? 0 });
  }
  if (runId !== null) runId = await updateCheckRun(client, repository, runId, run).catch(nullIfAbsent);
  runId ??= await createCheckRun(client, repository, run);

  const numbers = facts.items.map(({ number }) => number);
  await deps.db.transaction().execute(async (trx) => {
    await lockItems(trx, repository.id, numbers);
    await saveClaimCheck(trx, repository.id, pull, { runId, head, conclusion: check.conclusion, said });
    // Where the check is required, GitHub's word about merging hangs on it.
    await markMoved(trx, repository.id, [pull]);
    await reviewItems(trx, repository, numbers);
  });
  deps.wake.pulls();
}

/** Who pushed is asked about only when it matters, and once for each push. */
async function judge(
  deps: Deps,
  client: Client,
  repository: Repository,
  { head, items, pusher }: ClaimCheckFacts,
): Promise<ClaimCheck> {
  const check = claimCheck({ head, items, byHuman: pusher?.byHuman === true });
  if (check.conclusion === "success" || pusher === null || pusher.byHuman !== null) return check;
  const { agents } = repository.settings;
  const byHuman =
    mayBeHuman(pusher, agents) &&
    pusher.login !== null &&
    hasWrite(await readPermission(client, repository, pusher.login));
  await saveByHuman(deps.db, repository.id, pusher.branch, head, byHuman);
  return byHuman ? claimCheck({ head, items, byHuman }) : check;
}

/** The run went with its commit, or was made by an App that we are no longer. */
function nullIfAbsent(error: unknown): null {
  if (isAbsent(error)) return null;
  throw error;
}
