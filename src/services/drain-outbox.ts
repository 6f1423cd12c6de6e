/**
 * Tells GitHub what was promised: one writer per installation, in order per issue. A try that may have had its
 * effect (a 502 after the comment was made, a crash) is not repeated blindly: the next try looks first.
 */

import { randomUUID } from "node:crypto";
import { claimComment, releasedComment } from "../domain/comments.ts";
import { hasLabel, sameLabel } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { barOf, failureOf, isAbsent, isKeyRefused, RequestHeld } from "../github/failure.ts";
import { addBlockedBy, addSubIssue } from "../github/link-writes.ts";
import { hasOwnComment } from "../github/reads.ts";
import { addLabels, closeIssue, createLabel, postComment, reopenIssue } from "../github/writes.ts";
import { findItem } from "../store/items.ts";
import { findIssue, noteLabel } from "../store/mirror.ts";
import type { Effect } from "../store/outbox.ts";
import {
  breakPromise,
  keepPromise,
  type OutboxRow,
  postponePromise,
  releaseWriter,
  returnPromise,
  takeLabelsBeside,
  takePromise,
  takeWriter,
} from "../store/outbox-queue.ts";
import { findRepositoryById, markArchived, type Repository } from "../store/repositories.ts";
import { keepClaimCheck } from "./claim-check.ts";
import type { Deps } from "./deps.ts";
import { backoffSeconds } from "./drain-inbox.ts";

/** With the backoff, three days: outages and suspensions end, but nothing is retried for ever. */
const MAX_ATTEMPTS = 500;
/** GitHub's clock and the database's may differ by this much when looking for a comment of ours. */
const CLOCK_SLACK_MS = 10 * 60_000;

/** Writes for one installation that has something due, until it has not or must wait. False: nothing was due. */
export async function drainInstallation(deps: Deps, stopping: AbortSignal): Promise<boolean> {
  if (!deps.github.isUsable) return false;
  const writer = `${deps.replica}/${randomUUID()}`;
  const installationId = await takeWriter(deps.db, writer);
  if (installationId === null) return false;
  let did = false;
  try {
    while (!stopping.aborted) {
      const row = await takePromise(deps.db, installationId, writer);
      if (row === null) break;
      did = true;
      if (!(await keep(deps, installationId, row, stopping))) break;
    }
  } finally {
    await releaseWriter(deps.db, installationId, writer);
  }
  return did;
}

/** Does what was promised. False: the writer must stop for now. */
async function keep(
  deps: Deps,
  installationId: number,
  row: OutboxRow,
  stopping: AbortSignal,
): Promise<boolean> {
  const repository = await findRepositoryById(deps.db, row.repositoryId);
  if (!repository) {
    await breakPromise(deps.db, row, "the repository is not known any more");
    return true;
  }
  const rows = [row, ...(await labelsBeside(deps, row))];
  try {
    const wanted: OutboxRow[] = [];
    for (const each of rows) if (await isWanted(deps, repository, each)) wanted.push(each);
    const client = await deps.github.client(installationId);
    if (row.effect.kind === "add_label") await putOn(deps, client, repository, wanted);
    else if (wanted.length > 0) await perform(deps, client, repository, row);
    for (const each of rows) await keepPromise(deps.db, each);
    return true;
  } catch (error) {
    // Cut off by our own end. It may have had its effect: the next try looks first.
    if (stopping.aborted) return false;
    return handleFailure(deps, rows, error);
  }
}

/** What is tried again goes alone, so that a label that GitHub refuses takes no other with it. */
const labelsBeside = async (deps: Deps, row: OutboxRow): Promise<OutboxRow[]> =>
  row.effect.kind === "add_label" && row.attempts === 1 ? takeLabelsBeside(deps.db, row) : [];

/** Whether it still makes sense: a label that a human has since done away with must not come back. */
async function isWanted(deps: Deps, repository: Repository, row: OutboxRow): Promise<boolean> {
  const { effect, issueNumber } = row;
  if (issueNumber === null) return true;
  const mirrored = await findIssue(deps.db, repository.id, issueNumber);
  if (mirrored?.gone) return false;
  // What ended since is not opened again, and what came back is not closed.
  if (effect.kind === "reopen_issue" || effect.kind === "close_issue") {
    const item = await findItem(deps.db, repository.id, issueNumber);
    return (item?.state === "complete" || item?.state === "cancelled") === (effect.kind === "close_issue");
  }
  if (effect.kind !== "add_label") return true;
  if (hasLabel(mirrored?.issue.labels ?? [], effect.label)) return false;
  const item = await findItem(deps.db, repository.id, issueNumber);
  const { gate, stale } = repository.settings.labels;
  if (sameLabel(effect.label, gate)) return item?.admitted === false;
  if (sameLabel(effect.label, stale)) return item?.state === "parked";
  return true;
}

/** All labels of one issue in one request. */
async function putOn(
  deps: Deps,
  client: Client,
  repository: Repository,
  rows: readonly OutboxRow[],
): Promise<void> {
  const [first] = rows;
  if (!first) return;
  const labels = rows.flatMap(({ effect }) => (effect.kind === "add_label" ? [effect.label] : []));
  await addLabels(client, repository, numberOf(first), labels);
  for (const label of labels) await noteLabel(deps.db, repository.id, numberOf(first), label);
}

async function perform(deps: Deps, client: Client, repository: Repository, row: OutboxRow): Promise<void> {
  const { effect, issueNumber } = row;
  switch (effect.kind) {
    case "create_label":
      return createLabel(client, repository, effect);
    case "add_label":
      return putOn(deps, client, repository, [row]);
    case "close_issue":
      return closeIssue(client, repository, numberOf(row), effect.reason);
    case "reopen_issue":
      return reopenIssue(client, repository, numberOf(row));
    case "add_sub_issue":
      return addSubIssue(client, repository, numberOf(row), effect.subIssueId);
    case "add_blocked_by":
      return addBlockedBy(client, repository, numberOf(row), effect.blockerId);
    case "check_run":
      return keepClaimCheck(deps, client, repository, { pull: effect.pull, mayStand: row.attempts > 1 });
    case "comment":
    case "claim_marker":
    case "release_outcome": {
      const body = textOf(effect);
      const firstLine = body.split("\n", 1)[0] ?? "";
      const appId = deps.github.app?.appId ?? 0;
      const since = new Date(row.createdAt.getTime() - CLOCK_SLACK_MS);
      const mayStand = row.attempts > 1;
      if (mayStand && (await hasOwnComment(client, repository, numberOf(row), { firstLine, appId, since })))
        return;
      deps.log.debug(
        { repositoryId: repository.id, issue: issueNumber, promise: row.promise },
        "posting a comment",
      );
      return postComment(client, repository, numberOf(row), body);
    }
  }
}

type CommentEffect = Extract<Effect, { kind: "comment" | "claim_marker" | "release_outcome" }>;

function textOf(effect: CommentEffect): string {
  if (effect.kind === "comment") return effect.body;
  if (effect.kind === "release_outcome") return releasedComment(effect, effect.note);
  const { grantedAt, leaseExpiresAt } = effect;
  return claimComment({
    ...effect,
    grantedAt: new Date(grantedAt),
    leaseExpiresAt: new Date(leaseExpiresAt),
  });
}

function numberOf(row: OutboxRow): number {
  if (row.issueNumber === null) throw new Error(`the promise ${row.promise} names no issue`);
  return row.issueNumber;
}

/** Sorts out what becomes of the promises. False: the writer must stop for now, for the others fare no better. */
async function handleFailure(deps: Deps, rows: readonly OutboxRow[], error: unknown): Promise<boolean> {
  const [row] = rows;
  if (!row) return true;
  const failure = failureOf(error);
  // Nothing was sent: it was not our turn, or for want of a key that GitHub takes.
  if (error instanceof RequestHeld || isKeyRefused(error)) {
    for (const each of rows) await returnPromise(deps.db, each, failure.retryAfterSeconds ?? 1);
    return false;
  }
  const fields = {
    repositoryId: row.repositoryId,
    issue: row.issueNumber,
    promise: row.promise,
    attempts: row.attempts,
    reason: failure.message,
  };
  const bar = barOf(error);
  if (bar !== null) {
    // The promise waits for GitHub to say that the bar is lifted.
    deps.log.warn({ ...fields, bar }, "GitHub bars the App, and no event told of it; writing waits");
    if (bar === "archived") await markArchived(deps.db, row.repositoryId);
    return bar === "archived";
  }
  // Right after an event GitHub may still answer 404 (github-cases 71): one refusal is not yet final.
  const isRefused = failure.kind === "refused" && !(isAbsent(error) && row.attempts < 4);
  if ((isRefused && rows.length === 1) || row.attempts >= MAX_ATTEMPTS) {
    deps.log.error(fields, "GitHub refuses what was promised; it is kept as failed");
    for (const each of rows) await breakPromise(deps.db, each, failure.message);
    return true;
  }
  const seconds = failure.retryAfterSeconds ?? backoffSeconds(row.attempts);
  deps.log.warn({ ...fields, retryInSeconds: seconds }, "writing to GitHub will be tried again");
  for (const each of rows) await postponePromise(deps.db, each, failure.message, seconds);
  return failure.kind !== "rate_limited" && failure.kind !== "unauthorized";
}
