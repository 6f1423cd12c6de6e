/** An issue of which GitHub says, when it is asked, that it is gone. */

import type { Trx } from "../store/database.ts";
import { lockItem } from "../store/item-lock.ts";
import { lockIssue, type MirroredIssue, markGone } from "../store/mirror.ts";
import type { Repository } from "../store/repositories.ts";
import { knownItem } from "./issue-transitions.ts";
import { cancelItem } from "./item-changes.ts";

/** Nobody is named: GitHub tells no more of it. */
const GHOST = "ghost";

/**
 * Leaves a tombstone; the item is over, and not complete. `before` runs under the issue's locks, and may still forbid it.
 * One that has a tombstone keeps it.
 */
export async function entomb(
  trx: Trx,
  repository: Repository,
  number: number,
  why: "deleted" | "transferred",
  before: (stored: MirroredIssue) => Promise<boolean> = async () => true,
): Promise<void> {
  await lockItem(trx, repository.id, number);
  const stored = await lockIssue(trx, repository.id, number);
  if (stored === null || stored.gone || !(await before(stored))) return;
  const item = await knownItem(trx, repository, number);
  const isOver = item?.state === "complete" || item?.state === "cancelled";
  if (item && !isOver) await cancelItem(trx, { repository, number }, GHOST, null);
  await markGone(trx, repository.id, number, why);
}
