/**
 * The sweep (protocol 3, 5): parks what crossed the threshold or a human labelled, with nobody on it, finishes half parks, and
 * takes admission back from texts that no edit has told of.
 */

import { isPoison } from "../domain/attempts.ts";
import { itemRef } from "../domain/record-key.ts";
import { isLeftAlone } from "../domain/why-not.ts";
import { clearDeadLines } from "../store/claim-line.ts";
import type { Trx } from "../store/database.ts";
import { askOverdueChecks } from "../store/item-checks.ts";
import { findItemView } from "../store/item-facts.ts";
import { SETTLE_SECONDS } from "../store/item-view.ts";
import { pruneAnswers } from "../store/kept-answers.ts";
import { retryPromisedLabels } from "../store/outbox.ts";
import { itemsToSweep } from "../store/parking.ts";
import { lockRecord } from "../store/records.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import { withdrawUntold } from "./body-trails.ts";
import type { Deps } from "./deps.ts";
import { forgetExpired } from "./forget.ts";
import { parkByLabel, parkItem } from "./item-changes.ts";

const BATCH = 200;

/** Judges every candidate afresh. Running it twice, or in two processes, parks nothing twice. Answers how many it parked. */
export async function sweep(deps: Deps): Promise<number> {
  let parked = 0;
  let after = { repositoryId: -9_007_199_254_740_991, number: 0 };
  for (;;) {
    const batch = await itemsToSweep(deps.db, BATCH, after);
    for (const { repositoryId, number } of batch) {
      const repository = await findRepositoryById(deps.db, repositoryId);
      if (!repository) continue;
      try {
        const did = await deps.db.transaction().execute((trx) => parkIfDue(trx, repository, number, null));
        if (did) parked += 1;
      } catch (error) {
        // One that fails must not keep the others from being swept.
        deps.log.error({ err: error, repositoryId, number }, "an item could not be swept");
      }
    }
    const last = batch.at(-1);
    if (!last || batch.length < BATCH) break;
    after = last;
  }
  const withdrawn = await withdrawUntold(deps);
  await clearDeadLines(deps.db);
  await pruneAnswers(deps.db);
  await forgetExpired(deps);
  await askOverdueChecks(deps.db, SETTLE_SECONDS);
  deps.wake.checks();
  const retried = await retryPromisedLabels(deps.db);
  if (parked > 0 || retried > 0 || withdrawn > 0) {
    deps.log.info({ parked, halfParks: retried, withdrawn }, "the sweep changed something");
    deps.wake.outbox();
  }
  return parked;
}

/** Parks the item if a human asked for it or its attempts reached the threshold, and nobody is at it. */
export async function parkIfDue(
  trx: Trx,
  repository: Repository,
  number: number,
  note: string | null,
): Promise<boolean> {
  await lockRecord(trx, itemRef(repository.id, number));
  const found = await findItemView(trx, repository.id, number, repository.settings);
  if (!found) return false;
  const { facts, attempts } = found.item;
  const { threshold } = facts;
  if (facts.state !== null || isLeftAlone(facts, found.now)) return false;
  const at = { repository, number };
  if (facts.parkAsked !== null) {
    await parkItem(trx, at, { ...parkByLabel(facts.parkAsked.by, facts.parkAsked.at), note });
    return true;
  }
  if (!isPoison(attempts.count, threshold)) return false;
  await parkItem(trx, at, {
    by: "leasehold",
    reason: `${attempts.count === 1 ? "1 attempt" : `${attempts.count} attempts`} did not complete it (the threshold is ${threshold}).`,
    note,
    eventAt: null,
  });
  return true;
}
