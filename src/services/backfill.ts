/**
 * Reads a repository from GitHub: its backfill (what was there before the App was), and each reconcile (what events did
 * not tell). Page by page; the cursor is stored after each, so that a crash or a rate limit resumes where it stopped.
 * Every page is applied as if its rows had been announced; reading one twice changes nothing.
 */

import { randomUUID } from "node:crypto";
import { failureOf } from "../github/failure.ts";
import { readRepositoryById } from "../github/reads.ts";
import {
  type BackfillCursor,
  finishBackfill,
  forgetSeen,
  releaseBackfill,
  saveBackfillCursor,
  type TakenReading,
  takeBackfill,
} from "../store/backfill.ts";
import { forgetUnopened } from "../store/body-trails.ts";
import { databaseNow } from "../store/clock.ts";
import { findRepositoryById, markUninstalled, type Repository } from "../store/repositories.ts";
import { NEWS_SECONDS } from "./body-trails.ts";
import type { Deps } from "./deps.ts";
import { START, step } from "./reading-steps.ts";
import { ChangedMeanwhile } from "./settle-delivery.ts";
import { clientOf } from "./supervise-requests.ts";
import { takeDescription } from "./take-description.ts";

/** After a failure that names no time. */
const RETRY_SECONDS = 30;
/** Events that tell of a change come late, and GitHub's clocks differ: so far before the last reading the next begins. */
const OVERLAP_MS = 300_000;

/** Goes on with a repository's reading until it is done or `stopping` says so. One process at a time works on it. */
export async function backfill(deps: Deps, repositoryId: number, stopping: AbortSignal): Promise<void> {
  if (!deps.github.isUsable) return;
  // Named by run, not by process: one that was started afresh meanwhile must not go on.
  const worker = `${deps.replica}/${randomUUID()}`;
  const taken = await takeBackfill(deps.db, repositoryId, worker);
  if (taken === null) return;
  try {
    await goOn(deps, repositoryId, worker, taken, stopping);
  } catch (error) {
    const failure = failureOf(error);
    const seconds = failure.retryAfterSeconds ?? RETRY_SECONDS;
    deps.log.warn(
      { repositoryId, mode: taken.mode, reason: failure.message, retryInSeconds: seconds },
      "a backfill stopped, and will go on",
    );
    await releaseBackfill(deps.db, repositoryId, worker, failure.message, seconds);
  }
}

async function goOn(
  deps: Deps,
  repositoryId: number,
  worker: string,
  taken: TakenReading,
  stopping: AbortSignal,
): Promise<void> {
  const from = taken.from && new Date(taken.from.getTime() - OVERLAP_MS);
  let cursor = taken.cursor ?? START;
  while (!stopping.aborted) {
    const known = await findRepositoryById(deps.db, repositoryId);
    if (!known?.installed || known.installationId === null) return;
    const client = await clientOf(deps, known.installationId);
    let began = cursor.began;
    let repository: Repository = known;
    if (began === null) {
      const ours = await databaseNow(deps.db);
      const found = await readRepositoryById(client, repositoryId);
      // GitHub tells no App that its repository was deleted, or that it went where the App is not.
      if (found === null) return lose(deps, repository);
      began = { ours: ours.toISOString(), theirs: found.at.toISOString() };
      repository = await takeDescription(deps, repository, found.facts, taken.mode);
      if (taken.mode === "all") await forgetSeen(deps.db, repositoryId);
    }
    const reading = { mode: taken.mode, from, now: new Date(began.theirs) };
    const next = await step(deps, client, repository, cursor, reading).catch(againIfChanged);
    deps.wake.outbox();
    if (next === "again") continue;
    deps.wake.pulls();
    if (next === null) return finish(deps, repository, worker, taken, began);
    cursor = { ...next, began };
    if (!(await saveBackfillCursor(deps.db, repositoryId, worker, cursor))) {
      // It may have been started afresh by a configuration that this reading found.
      deps.wake.backfill(repositoryId);
      return;
    }
  }
  await releaseBackfill(deps.db, repositoryId, worker, "the server was stopped", 0);
}

async function finish(
  deps: Deps,
  repository: Repository,
  worker: string,
  { mode }: TakenReading,
  { ours, theirs }: NonNullable<BackfillCursor["began"]>,
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    await finishBackfill(trx, repository.id, worker, mode, {
      ours: new Date(ours),
      theirs: new Date(theirs),
    });
    await forgetUnopened(trx, repository.id, new Date(Date.parse(theirs) - NEWS_SECONDS * 1000));
  });
  if (mode === "all") await forgetSeen(deps.db, repository.id);
  // What was anchored while GitHub could not be asked.
  deps.wake.anchors();
  const about = { repository: `${repository.owner}/${repository.name}`, mode };
  deps.log[mode === "since" ? "debug" : "info"](about, "the backfill is complete");
}

/** Its history is kept; should the App reach it again, it is told. */
async function lose(deps: Deps, { id, owner, name }: Repository): Promise<void> {
  await deps.db.transaction().execute((trx) => markUninstalled(trx, { ids: [id] }));
  deps.log.warn(
    { repository: `${owner}/${name}` },
    "GitHub does not show the repository to the App any more",
  );
}

/** What is known changed while a page was read: it is read again, which changes nothing twice. */
function againIfChanged(error: unknown): "again" {
  if (error instanceof ChangedMeanwhile) return "again";
  throw error;
}
