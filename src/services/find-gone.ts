/**
 * What GitHub did not list, though the mirror has it: deleted, transferred or converted while nobody told. Each is asked
 * for once more, because a list that changes while it is read leaves rows out.
 */

import type { Client } from "../github/connection.ts";
import { isAbsent } from "../github/failure.ts";
import { type IssueFate, readFate } from "../github/issue-fate.ts";
import { readComment } from "../github/reads.ts";
import type { Trx } from "../store/database.ts";
import { markCommentDeleted } from "../store/mirror.ts";
import type { IssueAt } from "../store/native-links.ts";
import { findRepositoryById, findRepositoryByName, type Repository } from "../store/repositories.ts";
import { type Reading, takeIssue } from "./backfill-issue.ts";
import type { Deps } from "./deps.ts";
import { entomb } from "./entomb.ts";
import { followMove } from "./follow-transfer.ts";

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
  await deps.db.transaction().execute((trx) =>
    entomb(trx, repository, number, fate.kind === "moved" ? "transferred" : "deleted", async ({ issue }) => {
      if (fate.kind === "moved") await follow(trx, { repositoryId: repository.id, number }, fate);
      return fate.kind !== "absent" || fate.asOf.getTime() - issue.createdAt.getTime() >= KNOWN_EVERYWHERE_MS;
    }),
  );
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
