/** What it means that a branch has another head, whether a push told of it or it was read. */

import { itemOfBranch } from "../domain/branch-names.ts";
import type { Trx } from "../store/database.ts";
import { integrationItemsAt } from "../store/groupings.ts";
import { itemsAtBranch } from "../store/handover.ts";
import { lockItems } from "../store/item-lock.ts";
import { findItem, markActive } from "../store/items.ts";
import { markMoved, ownPullsInto } from "../store/pull-readings.ts";
import type { Repository } from "../store/repositories.ts";
import { reviewItems } from "./item-review.ts";

/** A push to a base may make a conflict, and GitHub tells of none: what goes there is read again, in its time. */
export async function meetBase(trx: Trx, repository: Repository, base: string): Promise<void> {
  const into = await ownPullsInto(trx, repository.id, base);
  if (into.length === 0) return;
  const items = [...new Set(into.map(({ item }) => item))];
  await lockItems(trx, repository.id, items);
  await markMoved(trx, repository.id, [...new Set(into.map(({ pull }) => pull))]);
  await reviewItems(trx, repository, items);
}

/** Notes the sign of life of the items that are worked on there; answers those whose own branch it is. */
export async function noteWork(trx: Trx, repository: Repository, branch: string): Promise<number[]> {
  const named = itemOfBranch(branch);
  // A push to the default branch is nobody's work, whatever a resume block says.
  const recorded = branch === repository.defaultBranch ? [] : await itemsAtBranch(trx, repository.id, branch);
  const items = new Set(recorded);
  if (named) items.add(named.number);
  // An epic's branch is where its integration item is worked on; what others merged there is not its doing.
  for (const number of await integrationItemsAt(trx, repository.id, branch))
    await markActive(trx, repository.id, number);
  const own: number[] = [];
  for (const number of items) {
    if (!(await findItem(trx, repository.id, number))) continue;
    await markActive(trx, repository.id, number);
    own.push(number);
  }
  return own;
}
