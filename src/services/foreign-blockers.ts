/**
 * Blockers in repositories where the App is not installed (github-cases 63). Nobody tells of their changes, and their
 * repository cannot be asked; but the blocked issue's own list of blockers carries their state. It is read every so often.
 */

import type { LinkedIssue } from "../contract/link-payloads.ts";
import { itemRef } from "../domain/record-key.ts";
import { failureOf, isGitHubFailure, RequestHeld } from "../github/failure.ts";
import { readBlockedBy } from "../github/link-reads.ts";
import type { Trx } from "../store/database.ts";
import {
  type ForeignBlocker,
  type ForeignReading,
  noteForeignReading,
  saveForeignBlockers,
  takeForeignReading,
} from "../store/foreign-blockers.ts";
import { type IssueAt, nativeEdgesOf } from "../store/native-links.ts";
import { lockRecord } from "../store/records.ts";
import { findRepositoryById } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { findPlace, type Place, targetOf } from "./link-ends.ts";
import { clientOf } from "./supervise-requests.ts";

/** After a failure that may pass the list is tried again so much later. */
const RETRY_SECONDS = 60;

/** A blocker as GitHub lists it, and where it is. */
export interface ListedBlocker {
  readonly place: Place;
  readonly issue: LinkedIssue | null;
}

/** Reads the list of one item that is due. False: none is, or nothing can be asked now. */
export async function readForeignBlockers(deps: Deps, intervalSeconds: number): Promise<boolean> {
  if (!deps.github.isUsable) return false;
  const due = await takeForeignReading(deps.db, intervalSeconds);
  if (due === null) return false;
  try {
    await read(deps, due);
    return true;
  } catch (error) {
    if (!isGitHubFailure(error)) throw error;
    return handleFailure(deps, due, error);
  }
}

async function read(deps: Deps, due: ForeignReading): Promise<void> {
  const repository = await findRepositoryById(deps.db, due.repositoryId);
  if (!repository || repository.installationId === null) return;
  const client = await clientOf(deps, repository.installationId);
  const answer = await readBlockedBy(client, repository, due.number, due.etag);
  if (answer === null) return;
  const listed: ListedBlocker[] = [];
  for (const issue of answer.rows) {
    const place = await findPlace(deps.db, { id: issue.id, issue, repository: null });
    if (place) listed.push({ place, issue });
  }
  await deps.db.transaction().execute(async (trx) => {
    await lockRecord(trx, itemRef(due.repositoryId, due.number));
    await keepForeignBlockers(trx, due, listed);
    await noteForeignReading(trx, due, { etag: answer.etag, error: null });
  });
  deps.wake.checks();
}

/**
 * Keeps what the list tells of the issue's blockers elsewhere. Of one that it leaves out nothing is known any more: GitHub
 * lists nothing that the App may not see. Under the issue's lock. False: nothing new was told.
 */
export async function keepForeignBlockers(
  trx: Trx,
  at: IssueAt,
  listed: readonly ListedBlocker[],
): Promise<boolean> {
  const edges = await nativeEdgesOf(trx, at, "blockedBy");
  const told = edges.flatMap(({ repositoryId, target, targetId, present }): ForeignBlocker[] => {
    if (!present || repositoryId === at.repositoryId) return [];
    const found = listed.find(({ place, issue }) => {
      const to = targetOf(place);
      const isThere = to.repositoryId === repositoryId && to.target === target;
      return isThere || (targetId !== null && issue?.id === targetId);
    });
    const state = found?.issue?.state;
    if (!found || !state || found.place.repository?.heard) return [];
    return [{ repositoryId, target, open: state === "open", stateReason: found.issue?.state_reason ?? null }];
  });
  return saveForeignBlockers(trx, at, told);
}

/** What GitHub will not tell blocks; what it only cannot tell now stays as it was. False: nothing else fares better. */
async function handleFailure(deps: Deps, due: ForeignReading, error: unknown): Promise<boolean> {
  const failure = failureOf(error);
  const isFinal = failure.kind === "refused" || failure.kind === "barred";
  const isHeld = error instanceof RequestHeld;
  if (isFinal && !isHeld) {
    await deps.db.transaction().execute(async (trx) => {
      await lockRecord(trx, itemRef(due.repositoryId, due.number));
      await saveForeignBlockers(trx, due, []);
      await noteForeignReading(trx, due, { etag: null, error: failure.message });
    });
    deps.wake.checks();
  } else {
    const againIn = failure.retryAfterSeconds ?? RETRY_SECONDS;
    await noteForeignReading(deps.db, due, { etag: due.etag, error: failure.message, againIn });
  }
  const fields = { repositoryId: due.repositoryId, issue: due.number, reason: failure.message };
  deps.log.warn(fields, "the blockers of an issue in other repositories could not be read");
  return isFinal && !isHeld;
}
