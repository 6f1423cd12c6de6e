/** Promises that GitHub's own links follow ours: sub-issues, and "blocked by" (protocol 1). */

import type { Trx } from "../store/database.ts";
import { findIssue } from "../store/mirror.ts";
import { blockedByPromise, promise, subIssuePromise } from "../store/outbox.ts";
import type { ItemAt } from "./item-changes.ts";

/** Makes an issue a sub-issue of another of the same repository. */
export async function promiseSubIssue(trx: Trx, parent: ItemAt, child: number): Promise<void> {
  const repositoryId = parent.repository.id;
  const subIssueId = await idOf(trx, repositoryId, child);
  if (subIssueId === null) return;
  await promise(trx, {
    repositoryId,
    issueNumber: parent.number,
    promise: subIssuePromise(parent.number, subIssueId),
    effect: { kind: "add_sub_issue", subIssueId },
  });
}

/** GitHub takes so many blockers of one issue; our own edges hold all. */
const MOST_BLOCKERS = 50;

/** Lets an issue wait for others of the same repository. */
export async function promiseBlockedBy(
  trx: Trx,
  blocked: ItemAt,
  blockers: readonly number[],
): Promise<void> {
  const repositoryId = blocked.repository.id;
  for (const blocker of blockers.slice(0, MOST_BLOCKERS)) {
    const blockerId = await idOf(trx, repositoryId, blocker);
    if (blockerId === null) continue;
    await promise(trx, {
      repositoryId,
      issueNumber: blocked.number,
      promise: blockedByPromise(blocked.number, blockerId),
      effect: { kind: "add_blocked_by", blockerId },
    });
  }
}

/** GitHub names the other end by its id. Null: the mirror does not know the issue, and the edge is ours alone. */
async function idOf(trx: Trx, repositoryId: number, number: number): Promise<number | null> {
  return (await findIssue(trx, repositoryId, number))?.issue.id ?? null;
}
