/**
 * What GitHub did not list, though the mirror has it: deleted, transferred or converted while nobody told. Each is asked
 * for once more, because a list that changes while it is read leaves rows out.
 */

import { itemRef } from "../domain/record-key.ts";
import type { Client } from "../github/connection.ts";
import { isAbsent } from "../github/failure.ts";
import { type IssueFate, readFate } from "../github/issue-fate.ts";
import { readComment } from "../github/reads.ts";
import type { Trx } from "../store/database.ts";
import { lockIssue, markCommentDeleted, markGone } from "../store/mirror.ts";
import type { IssueAt } from "../store/native-links.ts";
import { lockRecord } from "../store/records.ts";
import { findRepositoryById, findRepositoryByName, type Repository } from "../store/repositories.ts";
import { type Reading, takeIssue } from "./backfill-issue.ts";
import type { Deps } from "./deps.ts";
import { followMove } from "./follow-transfer.ts";
import { knownItem } from "./issue-transitions.ts";
import { cancelItem } from "./item-changes.ts";

/** Nobody is named: GitHub tells no more of it. */
const GHOST = "ghost";

/** What GitHub does not show for so long after the issue was opened is not there any more (github-cases 71). */
const KNOWN_EVERYWHERE_MS = 3_600_000;

/** Asks what became of an issue, and leaves a tombstone if it is gone; its item is over, and not complete. */
export async function settleIssue(
  deps: Deps,
  client: Client,
  repository: Repository,
  number: number,
  reading: Reading,
): Promise<void> {
  const fate = await readFate(client, repository, number);
  if (fate.kind === "there") return takeIssue(deps, client, repository, fate.issue, reading);
  await deps.db.transaction().execute(async (trx) => {
    await lockRecord(trx, itemRef(repository.id, number));
    const stored = await lockIssue(trx, repository.id, number);
    if (stored === null || stored.gone) return;
    if (
      fate.kind === "absent" &&
      fate.asOf.getTime() - stored.issue.createdAt.getTime() < KNOWN_EVERYWHERE_MS
    )
      return;
    if (fate.kind === "moved") await follow(trx, { repositoryId: repository.id, number }, fate);
    const item = await knownItem(trx, repository.id, number);
    const isOver = item?.state === "complete" || item?.state === "cancelled";
    if (item && !isOver) await cancelItem(trx, { repository, number }, GHOST, null);
    await markGone(trx, repository.id, number, fate.kind === "moved" ? "transferred" : "deleted");
  });
}

async function follow(trx: Trx, from: IssueAt, { to }: Extract<IssueFate, { kind: "moved" }>): Promise<void> {
  const [owner = "", name = ""] = to.fullName.split("/");
  const target =
    to.repositoryId === null
      ? await findRepositoryByName(trx, owner, name)
      : await findRepositoryById(trx, to.repositoryId);
  if (target === null) return;
  await followMove(trx, { from, to: { repositoryId: target.id, number: to.number }, id: to.id });
}

/** Asks whether a comment is still there. What its marker counted for stays counted (github-cases 42). */
export async function settleComment(
  deps: Deps,
  client: Client,
  repository: Repository,
  id: number,
): Promise<void> {
  try {
    await readComment(client, repository, id);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    await deps.db.transaction().execute((trx) => markCommentDeleted(trx, repository.id, id));
  }
}
