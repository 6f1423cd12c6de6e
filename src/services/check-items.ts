/** Looks at items whose facts changed: keeps the defects that it finds (protocol 6), and their epics' priorities. */

import { tellingDefects } from "../domain/defects.ts";
import { isExcluding } from "../domain/ready-set.ts";
import { itemRef } from "../domain/record-key.ts";
import { prioritiesOfLabels, tagValues, withTag } from "../domain/tags.ts";
import { type Db, inTransaction, type Trx } from "../store/database.ts";
import { priorityOfEpic } from "../store/groupings.ts";
import {
  askItemChecks,
  type ItemToCheck,
  isCheckWaiting,
  keepDefects,
  takeChecks,
  takeChecksOf,
} from "../store/item-checks.ts";
import { itemViews } from "../store/item-facts.ts";
import type { ItemView } from "../store/item-view.ts";
import { findRecord, setRecordTags, tryLockRecord } from "../store/records.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";

/** Whoever changes one of them waits so long for the others. */
const BATCH = 10;

/** Looks at some items, so many at most. False: none was waiting. */
export async function checkItems(db: Db, most = BATCH): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const items = await takeChecks(trx, most);
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

/**
 * Looks at one item now, if its facts changed since somebody did. False: they did not. So nobody is refused for a defect
 * that was mended.
 */
export async function checkAtOnce(db: Db, at: ItemToCheck): Promise<boolean> {
  if (!(await isCheckWaiting(db, at))) return false;
  await inTransaction(db, async (trx) => {
    await takeChecksOf(trx, at);
    await checkOf(trx, at.repositoryId, [at.number]);
  });
  return true;
}

async function checkOf(trx: Trx, repositoryId: number, numbers: readonly number[]): Promise<void> {
  const repository = await findRepositoryById(trx, repositoryId);
  if (!repository) return;
  const { items } = await itemViews(trx, repositoryId, numbers, repository.settings);
  for (const item of items) {
    if (item.facts.enrolled && item.facts.state === null) await followEpic(trx, repository, item);
  }
  const found = items.map(({ facts, defects }) => {
    const telling = facts.enrolled ? tellingDefects(facts, defects) : [];
    const isFlawed = telling.some(({ code }) => isExcluding(code));
    return { number: facts.number, defects: telling, isFlawed };
  });
  await keepDefects(trx, repositoryId, found);
}

/**
 * An item without a priority label has its epic's priority, whichever changed (protocol 2). Its row is locked here before
 * its record, and elsewhere after: so the record's lock is not waited for.
 */
async function followEpic(
  trx: Trx,
  repository: Repository,
  { facts, labels, links }: ItemView,
): Promise<void> {
  const isPart = links.some((link) => link.relation === "partOf" && link.repositoryId === repository.id);
  if (!isPart || prioritiesOfLabels(labels).length > 0) return;
  const priority = await priorityOfEpic(trx, repository.id, facts.number);
  if (priority === null || tagValues(facts.tags, "priority:").join() === priority) return;
  const ref = itemRef(repository.id, facts.number);
  if (!(await tryLockRecord(trx, ref))) {
    await askItemChecks(trx, [{ repositoryId: repository.id, number: facts.number }]);
    return;
  }
  const record = await findRecord(trx, ref);
  if (record) await setRecordTags(trx, ref, withTag(record.tags, "priority:", [priority]));
}
