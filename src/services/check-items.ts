/** Looks at the defects of items whose facts changed, and keeps what it finds (protocol 6). */

import { tellingDefects } from "../domain/defects.ts";
import { isExcluding } from "../domain/ready-set.ts";
import { type Db, inTransaction, type Trx } from "../store/database.ts";
import { keepDefects, takeChecks } from "../store/item-checks.ts";
import { itemViews } from "../store/item-facts.ts";
import { findRepositoryById } from "../store/repositories.ts";

/** Whoever changes one of them waits so long for the others. */
const BATCH = 10;

/** Looks at some items. False: none was waiting. */
export async function checkItems(db: Db): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const items = await takeChecks(trx, BATCH);
    for (const [repositoryId, rows] of Map.groupBy(items, (item) => item.repositoryId)) {
      await checkOf(
        trx,
        repositoryId,
        rows.map(({ number }) => number),
      );
    }
    return items.length > 0;
  });
}

async function checkOf(trx: Trx, repositoryId: number, numbers: readonly number[]): Promise<void> {
  const repository = await findRepositoryById(trx, repositoryId);
  if (!repository) return;
  const { items } = await itemViews(trx, repositoryId, numbers, repository.settings);
  for (const { facts, defects } of items) {
    const found = facts.enrolled ? tellingDefects(facts, defects) : [];
    const isFlawed = found.some(({ code }) => isExcluding(code));
    await keepDefects(trx, { repositoryId, number: facts.number }, found, isFlawed);
  }
}
