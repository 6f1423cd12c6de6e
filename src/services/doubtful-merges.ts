/** Keeps what a pull request seems to have completed and did not: the defect `doubtful_merge` (github-cases 54, 57, 58). */

import { type ClosingReferences, closingReferences } from "../domain/closing-keywords.ts";
import { doubtfulMerges } from "../domain/doubtful-merge.ts";
import { endDecidedAt } from "../domain/issue-transitions.ts";
import { hostOf } from "../github/snapshots.ts";
import type { Trx } from "../store/database.ts";
import { closeIncidentsOf, itemsWithIncident, openIncident } from "../store/incidents.ts";
import { findItem } from "../store/items.ts";
import { findPull, type PullSnapshot } from "../store/pulls.ts";
import type { Repository } from "../store/repositories.ts";

const CODE = "doubtful_merge";

/** Items that the pull request's text names in doubt, and those that it is flagged on: their locks come first. */
export async function itemsInDoubt(trx: Trx, repository: Repository, pull: PullSnapshot): Promise<number[]> {
  const named = pull.open ? [] : referencesOf(repository, pull).flagged.map(({ number }) => number);
  return [...named, ...(await itemsWithIncident(trx, repository.id, CODE, `#${pull.number}`))];
}

/**
 * Makes the flags of a pull request what follows from it as the mirror has it now: an edit that leaves no doubt takes them
 * away. `items`: what it is about. Under the locks of all those items.
 */
export async function keepDoubtfulMerges(
  trx: Trx,
  repository: Repository,
  number: number,
  items: readonly number[],
): Promise<void> {
  const pull = await findPull(trx, repository.id, number);
  if (pull === null) return;
  const { open: isOpen, mergedAt, title } = pull;
  const { flagged } = referencesOf(repository, pull);
  const value = `#${number}`;
  const kept: number[] = [];
  for (const { item, detail } of doubtfulMerges({ number, title, isOpen, mergedAt, items, flagged })) {
    const known = await findItem(trx, repository.id, item);
    const isLive = known?.enrolled && (known.state === null || known.state === "parked");
    if (!isLive) continue;
    // The item was brought back since: that was about another try.
    const decidedAt = endDecidedAt(known);
    const endedAt = mergedAt ?? pull.closedAt;
    if (decidedAt !== null && endedAt !== null && endedAt < decidedAt && known.state === null) continue;
    kept.push(item);
    await openIncident(trx, { repositoryId: repository.id, number: item, code: CODE, value, detail });
  }
  await closeIncidentsOf(trx, repository.id, { code: CODE, value }, kept);
}

const referencesOf = ({ owner, name }: Repository, { body, url }: PullSnapshot): ClosingReferences =>
  closingReferences(body, { owner, name, host: hostOf(url) });
