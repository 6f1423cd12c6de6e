/**
 * Backfill: what was there before the App was. Labels first, then open issues, comments, open pull requests,
 * page by page; the cursor is stored after each page, so that a crash or a rate limit resumes where it stopped.
 * Every page is applied as if its rows had been announced; reading one twice changes nothing.
 */

import { randomUUID } from "node:crypto";
import { itemRef } from "../domain/record-key.ts";
import { sameLabel } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { failureOf, isAbsent } from "../github/failure.ts";
import { readIssue } from "../github/link-reads.ts";
import {
  type Listing,
  listComments,
  listIssues,
  listLabels,
  listOpenPulls,
  readPull,
  readRepository,
} from "../github/reads.ts";
import { commentSnapshot, hostOf, issueOfComment, issueSnapshot, pullSnapshot } from "../github/snapshots.ts";
import {
  type BackfillCursor,
  finishBackfill,
  releaseBackfill,
  saveBackfillCursor,
  takeBackfill,
} from "../store/backfill.ts";
import { isDataError } from "../store/failure.ts";
import { findIssue, introduceIssue, saveComment, saveLabel } from "../store/mirror.ts";
import { unmirroredBlockers } from "../store/native-links.ts";
import { forgetReading, forgetReadings, readForgotten } from "../store/pull-readings.ts";
import { type PullSnapshot, pullsWithoutBranches } from "../store/pulls.ts";
import { lockRecord } from "../store/records.ts";
import { findRepositoryById, markHeard, type Repository, saveRepository } from "../store/repositories.ts";
import { heedFence, takeMarker } from "./apply-comment.ts";
import { takeIssue } from "./backfill-issue.ts";
import type { Deps } from "./deps.ts";
import { followDefaultBranch } from "./follow-default-branch.ts";
import { takePull } from "./item-review.ts";
import { configureAnew } from "./load-configuration.ts";
import { promiseOwnLabels } from "./own-labels.ts";
import { ChangedMeanwhile } from "./settle-delivery.ts";
import { clientOf } from "./supervise-requests.ts";

/** After a failure that names no time. */
const RETRY_SECONDS = 30;
const START: BackfillCursor = { phase: "labels", since: null, page: 1, after: 0 };

/** Goes on with a repository's backfill until it is done or `stopping` says so. One process at a time works on it. */
export async function backfill(deps: Deps, repositoryId: number, stopping: AbortSignal): Promise<void> {
  if (!deps.github.isUsable) return;
  // Named by run, not by process: one that was started afresh meanwhile must not go on.
  const worker = `${deps.replica}/${randomUUID()}`;
  const taken = await takeBackfill(deps.db, repositoryId, worker);
  if (taken === "busy") return;
  try {
    await goOn(deps, repositoryId, worker, taken ?? START, stopping);
  } catch (error) {
    const failure = failureOf(error);
    const seconds = failure.retryAfterSeconds ?? RETRY_SECONDS;
    deps.log.warn(
      { repositoryId, reason: failure.message, retryInSeconds: seconds },
      "a backfill stopped, and will go on",
    );
    await releaseBackfill(deps.db, repositoryId, worker, failure.message, seconds);
  }
}

async function goOn(
  deps: Deps,
  repositoryId: number,
  worker: string,
  from: BackfillCursor,
  stopping: AbortSignal,
): Promise<void> {
  let cursor = from;
  while (!stopping.aborted) {
    const repository = await findRepositoryById(deps.db, repositoryId);
    if (!repository?.installed || repository.installationId === null) return;
    const client = await clientOf(deps, repository.installationId);
    const next = await step(deps, client, repository, cursor).catch(againIfChanged);
    deps.wake.outbox();
    if (next === "again") continue;
    deps.wake.pulls();
    if (next === null) {
      await finishBackfill(deps.db, repositoryId, worker);
      // What was anchored while GitHub could not be asked.
      deps.wake.anchors();
      await markHeard(deps.db, repositoryId);
      deps.log.info({ repository: `${repository.owner}/${repository.name}` }, "the backfill is complete");
      return;
    }
    cursor = next;
    if (!(await saveBackfillCursor(deps.db, repositoryId, worker, cursor))) return;
  }
  await releaseBackfill(deps.db, repositoryId, worker, "the server was stopped", 0);
}

/** The settings changed while a page was read by them: it is read again, which changes nothing twice. */
function againIfChanged(error: unknown): "again" {
  if (error instanceof ChangedMeanwhile) return "again";
  throw error;
}

/** Does one page and answers where to go on; null: done. */
async function step(
  deps: Deps,
  client: Client,
  repository: Repository,
  cursor: BackfillCursor,
): Promise<BackfillCursor | null> {
  switch (cursor.phase) {
    case "labels":
      await forgetReadings(deps.db, repository.id);
      await takeLabels(deps, client, repository);
      return { ...START, phase: "issues" };
    case "issues":
    case "issues_by_age": {
      const page = await listIssues(client, repository, listingAt(cursor));
      for (const issue of page.rows) {
        // Of those by age also closed ones are listed, so that none moves while we read.
        if (issue.state !== "open") continue;
        await orNote(deps, repository, `#${issue.number}`, () => takeIssue(deps, client, repository, issue));
      }
      return next(cursor, page, "issues_by_age", "comments");
    }
    case "comments":
    case "comments_by_age": {
      const page = await listComments(client, repository, listingAt(cursor));
      for (const comment of page.rows) {
        const number = issueOfComment(comment);
        if (number === null) continue;
        await orNote(deps, repository, `comment ${comment.id}`, () =>
          takeComment(deps, repository, commentSnapshot(comment, number)),
        );
      }
      return next(cursor, page, "comments_by_age", "pulls");
    }
    case "pulls": {
      const page = await listOpenPulls(client, repository, cursor.page);
      for (const pull of page.rows) {
        const snapshot = pullSnapshot(pull, { ...repository, host: hostOf(pull.html_url) });
        await orNote(deps, repository, `pull request #${pull.number}`, () =>
          keepPull(deps, repository, snapshot),
        );
      }
      return page.full ? { ...cursor, page: cursor.page + 1 } : { ...START, phase: "missed_pulls" };
    }
    case "missed_pulls": {
      // Pages shift while pull requests close; those that the issue list named are read one by one.
      const missed = await pullsWithoutBranches(deps.db, repository.id, cursor.after, 50);
      for (const number of missed) await readMissed(deps, client, repository, number);
      const last = missed.at(-1);
      return last === undefined ? { ...START, phase: "blockers" } : { ...cursor, after: last };
    }
    case "blockers": {
      // What closed before the App came is not listed; where something waits for it, its end must be known.
      const unseen = await unmirroredBlockers(deps.db, repository.id, cursor.after, 50);
      for (const number of unseen) await takeBlocker(deps, client, repository, number);
      const last = unseen.at(-1);
      if (last !== undefined) return { ...cursor, after: last };
      await readForgotten(deps.db, repository.id);
      return null;
    }
  }
}

/** One row that cannot be stored must not keep the rest of the repository out. GitHub's failures stop the page. */
async function orNote(
  deps: Deps,
  repository: Repository,
  what: string,
  take: () => Promise<void>,
): Promise<void> {
  try {
    await take();
  } catch (error) {
    if (!isDataError(error)) throw error;
    const fields = { err: error, repository: `${repository.owner}/${repository.name}`, what };
    deps.log.error(fields, "a row of the backfill cannot be stored; it is left out");
  }
}

const listingAt = ({ phase, since, page }: BackfillCursor): Listing => ({
  since,
  page,
  by: phase.endsWith("_by_age") ? "age" : "change",
});

/**
 * The next page of a listing sorted by time of change: it begins at the last time seen, so that rows which change
 * while we read are not missed. Times have whole seconds; where one second fills a page, what changed since is
 * listed by age instead: there a row keeps its place whatever happens to it, and pages can be counted.
 */
function next(
  cursor: BackfillCursor,
  page: { full: boolean; rows: readonly { updated_at: Date }[] },
  byAge: BackfillCursor["phase"],
  then: BackfillCursor["phase"],
): BackfillCursor {
  if (!page.full) return { ...START, phase: then };
  if (cursor.phase === byAge) return { ...cursor, page: cursor.page + 1 };
  const [first, last] = [page.rows[0], page.rows.at(-1)].map((row) => row?.updated_at.toISOString() ?? null);
  return { ...cursor, since: last ?? null, phase: first === last ? byAge : cursor.phase };
}

async function takeLabels(deps: Deps, client: Client, repository: Repository): Promise<void> {
  const facts = await readRepository(client, repository);
  const labels = await listLabels(client, repository);
  await followDefaultBranch(deps, repository, facts.default_branch ?? null);
  await deps.db.transaction().execute(async (trx) => {
    const [owner = repository.owner, name = repository.name] = facts.full_name.split("/");
    const identity = {
      id: facts.id,
      owner,
      name,
      defaultBranch: facts.default_branch ?? null,
      archived: facts.archived ?? null,
      url: facts.html_url ?? null,
    };
    await saveRepository(trx, identity, repository.installationId);
    for (const { id, name: label, color = null, description = null } of labels) {
      if (id != null) await saveLabel(trx, repository.id, { id, name: label, color, description });
    }
  });
  // Before any issue is judged by it.
  const configured = await configureAnew(deps, repository.id);
  await deps.db
    .transaction()
    .execute((trx) =>
      promiseOwnLabels(trx, configured, (own) => !labels.some((label) => sameLabel(label.name, own))),
    );
}

async function takeComment(
  deps: Deps,
  repository: Repository,
  comment: ReturnType<typeof commentSnapshot>,
): Promise<void> {
  const isMirrored = (await findIssue(deps.db, repository.id, comment.issueNumber)) !== null;
  await deps.db.transaction().execute(async (trx) => {
    // Of issues that are not mirrored (closed ones, pull requests) only the tokens count: they were issued.
    if (!isMirrored) return heedFence(trx, deps, comment);
    await lockRecord(trx, itemRef(repository.id, comment.issueNumber));
    await saveComment(trx, repository.id, comment);
    await takeMarker(trx, deps, repository, comment);
  });
}

async function readMissed(deps: Deps, client: Client, repository: Repository, number: number): Promise<void> {
  try {
    const pull = await readPull(client, repository, number);
    const snapshot = pullSnapshot(pull, { ...repository, host: hostOf(pull.html_url) });
    await keepPull(deps, repository, snapshot);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

async function takeBlocker(
  deps: Deps,
  client: Client,
  repository: Repository,
  number: number,
): Promise<void> {
  const issue = await readIssue(client, repository, number);
  if (issue === null || issue.pull_request) return;
  await deps.db.transaction().execute((trx) => introduceIssue(trx, repository.id, issueSnapshot(issue)));
}

/** What was missed of an item's own is read by itself: its reviews, its checks, whether it can be merged. */
async function keepPull(deps: Deps, repository: Repository, pull: PullSnapshot): Promise<void> {
  await deps.db
    .transaction()
    .execute((trx) => takePull(trx, repository, pull, () => forgetReading(trx, repository.id, pull.number)));
}
