/** What a grant hands over of the work done so far (protocol 2 and 4). */

import type { ResumeBlock, ResumePack } from "../contract/handover.ts";
import { isOwnPull, recordedPulls } from "../domain/own-pull.ts";
import { checksOf } from "../domain/pull-checks.ts";
import { itemRef } from "../domain/record-key.ts";
import type { Db } from "../store/database.ts";
import { branchOfIntegrated } from "../store/groupings.ts";
import { findHandover, type ResumeRow } from "../store/handover.ts";
import type { PullOfItem } from "../store/own-pulls.ts";
import { findRecord } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";

/** Null: nothing is known of any work on the item. */
export async function resumePack(db: Db, repository: Repository, number: number): Promise<ResumePack | null> {
  const [{ resume, paths, morePaths, pulls }, record] = await Promise.all([
    findHandover(db, repository.id, number),
    findRecord(db, itemRef(repository.id, number)),
  ]);
  const recorded = recordedPulls(pulls, { number, tags: record?.tags ?? [], location: resume }, repository);
  const own = await ownOf(db, { repositoryId: repository.id, number, recorded }, pulls);
  if (!resume && !own && paths.length === 0) return null;
  const block = resume && resumeBlock(resume);
  return {
    lastLocation: block?.lastLocation ?? null,
    resumeNote: block?.resumeNote ?? null,
    writtenAt: block?.writtenAt ?? null,
    owner: block?.owner ?? null,
    fencingToken: block?.fencingToken ?? null,
    pullRequest: own ? pullBody(own) : null,
    changedPaths: [...paths],
    changedPathsTruncated: morePaths,
  };
}

/** The first of the pull requests that is the item's own; of an integration item also the one from its epic's branch. */
export async function ownOf(
  db: Db,
  item: { repositoryId: number; number: number; recorded: readonly number[] },
  pulls: readonly PullOfItem[],
): Promise<PullOfItem | undefined> {
  if (pulls.length === 0) return undefined;
  const epicBranch = await branchOfIntegrated(db, item.repositoryId, item.number);
  return pulls.find((pull) => isOwnPull(pull, { ...item, epicBranch }));
}

/** The block as callers see it. */
export function resumeBlock(row: ResumeRow): ResumeBlock {
  const { branch, pullNumber, sha } = row;
  const isSomewhere = branch !== null || pullNumber !== null || sha !== null;
  return {
    lastLocation: isSomewhere ? { branch, pullRequest: pullNumber, sha } : null,
    resumeNote: row.note,
    writtenAt: row.writtenAt.toISOString(),
    owner: row.owner,
    fencingToken: row.fence,
  };
}

const pullBody = (pull: PullOfItem) => ({
  number: pull.number,
  url: pull.url,
  title: pull.title,
  draft: pull.draft,
  baseBranch: pull.base,
  branch: pull.headRef,
  sha: pull.headSha,
  checks: checksOf(pull.checks),
});
