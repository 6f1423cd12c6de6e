/**
 * Reads pull requests whose state GitHub tells nobody of: whether they can be merged, and checks that have begun.
 * When a reading is due is decided with the item's review; here it is done, one at a time.
 */

import type { Client } from "../github/connection.ts";
import { failureOf, isAbsent } from "../github/failure.ts";
import { readPull } from "../github/pull-reads.ts";
import { listCheckSuites, listReviews } from "../github/review-reads.ts";
import { checkSuiteSnapshot, reviewSnapshot } from "../github/snapshots.ts";
import {
  type DueReading,
  postponeReading,
  postponeReadings,
  saveReading,
  takeReading,
} from "../store/pull-readings.ts";
import { saveCheckSuite, saveReview } from "../store/pulls.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { takeReadPull } from "./merged-pull.ts";
import { clientOf } from "./supervise-requests.ts";

const MAX_BACKOFF_SECONDS = 600;

/** Does the reading that has been due longest. False: none is. */
export async function readDuePull(deps: Deps, stopping: AbortSignal): Promise<boolean> {
  if (!deps.github.isUsable) return false;
  const due = await takeReading(deps.db);
  if (due === null) return false;
  const repository = await findRepositoryById(deps.db, due.repositoryId);
  if (!repository || repository.installationId === null) {
    await postponeReading(deps.db, due, null);
    return true;
  }
  try {
    const client = await clientOf(deps, repository.installationId);
    await store(deps, client, repository, due, await ask(client, repository, due));
    deps.wake.outbox();
  } catch (error) {
    if (stopping.aborted) return false;
    await handleFailure(deps, due, error);
  }
  return true;
}

async function ask(client: Client, repository: Repository, { number, withReviews }: DueReading) {
  const pull = await readPull(client, repository, number);
  return {
    pull,
    suites: pull.state === "open" ? await listCheckSuites(client, repository, pull.head.sha) : [],
    // From then on their events tell.
    reviews: withReviews && pull.state === "open" ? await listReviews(client, repository, number) : [],
  };
}

async function store(
  deps: Deps,
  client: Client,
  repository: Repository,
  due: DueReading,
  { pull, suites, reviews }: Awaited<ReturnType<typeof ask>>,
): Promise<void> {
  const { id } = repository;
  const appId = deps.github.app?.appId;
  await takeReadPull(deps, client, repository, pull, async (trx) => {
    await saveReading(trx, due, {
      head: pull.head.sha,
      base: pull.base.ref,
      mergeable: pull.mergeable ?? null,
      state: pull.mergeable_state ?? null,
    });
    for (const suite of suites) {
      // Our own check says nothing of the work.
      if (suite.app?.id !== appId)
        await saveCheckSuite(trx, { repository_id: id, ...checkSuiteSnapshot(suite) });
    }
    for (const review of reviews) {
      await saveReview(trx, { repository_id: id, ...reviewSnapshot(review, pull.number) });
    }
  });
}

async function handleFailure(deps: Deps, due: DueReading, error: unknown): Promise<void> {
  // It went with its repository, or was never there: nothing to ask until somebody tells of it again.
  if (isAbsent(error) && due.tries > 3) return postponeReading(deps.db, due, null);
  const failure = failureOf(error);
  const seconds = failure.retryAfterSeconds ?? Math.min(2 ** due.tries, MAX_BACKOFF_SECONDS);
  deps.log.warn(
    { repositoryId: due.repositoryId, pull: due.number, reason: failure.message, retryInSeconds: seconds },
    "a pull request could not be read; it is tried again",
  );
  await postponeReading(deps.db, due, seconds);
  const isGeneral = ["rate_limited", "unauthorized", "barred"].includes(failure.kind);
  if (isGeneral) await postponeReadings(deps.db, due.repositoryId, seconds);
}
