/**
 * Tells GitHub what was promised: one writer per installation, in order per issue. A try that may have had its
 * effect (a 502 after the comment was made, a crash) is not repeated blindly: the next try looks first.
 */

import { randomUUID } from "node:crypto";
import { claimComment, releasedComment } from "../domain/comments.ts";
import { hasLabel, sameLabel } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { barOf, failureOf, isAbsent } from "../github/failure.ts";
import { addBlockedBy, addSubIssue } from "../github/link-writes.ts";
import { hasOwnComment } from "../github/reads.ts";
import { addLabel, closeIssue, createLabel, postComment, reopenIssue } from "../github/writes.ts";
import { markSuspended } from "../store/installations.ts";
import { findItem } from "../store/items.ts";
import { findIssue, noteLabel } from "../store/mirror.ts";
import {
  breakPromise,
  type Effect,
  keepPromise,
  type OutboxRow,
  pauseInstallation,
  postponePromise,
  releaseWriter,
  takePromise,
  takeWriter,
} from "../store/outbox.ts";
import { findRepositoryById, markArchived, type Repository } from "../store/repositories.ts";
import { keepClaimCheck } from "./claim-check.ts";
import type { Deps } from "./deps.ts";
import { backoffSeconds } from "./drain-inbox.ts";

/** With the backoff, three days: outages and suspensions end, but nothing is retried for ever. */
const MAX_ATTEMPTS = 500;
/** GitHub's clock and the database's may differ by this much when looking for a comment of ours. */
const CLOCK_SLACK_MS = 10 * 60_000;

/** Writes for one installation that has something due, until it has not. False: no installation has. */
export async function drainInstallation(deps: Deps, stopping: AbortSignal): Promise<boolean> {
  if (deps.github.app === null) return false;
  const writer = `${deps.replica}/${randomUUID()}`;
  const installationId = await takeWriter(deps.db, writer);
  if (installationId === null) return false;
  try {
    await writeFor(deps, installationId, writer, stopping);
  } finally {
    await releaseWriter(deps.db, installationId, writer);
  }
  return true;
}

async function writeFor(
  deps: Deps,
  installationId: number,
  writer: string,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    const row = await takePromise(deps.db, installationId, writer);
    if (!row) return;
    const repository = await findRepositoryById(deps.db, row.repositoryId);
    if (!repository) return breakPromise(deps.db, row, "the repository is not known any more");
    try {
      if (await isWanted(deps, repository, row)) {
        await perform(deps, await deps.github.client(installationId), repository, row);
      }
      await keepPromise(deps.db, row);
    } catch (error) {
      // Cut off by our own end. It may have had its effect: the next try looks first.
      if (stopping.aborted) return;
      if (await handleFailure(deps, installationId, row, error)) return;
    }
  }
}

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

async function perform(deps: Deps, client: Client, repository: Repository, row: OutboxRow): Promise<void> {
  const { effect, issueNumber } = row;
  switch (effect.kind) {
    case "create_label":
      return createLabel(client, repository, effect);
    case "add_label":
      await addLabel(client, repository, numberOf(row), effect.label);
      return noteLabel(deps.db, repository.id, numberOf(row), effect.label);
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

/** Answers whether the writer must stop for now. */
async function handleFailure(
  deps: Deps,
  installationId: number,
  row: OutboxRow,
  error: unknown,
): Promise<boolean> {
  const failure = failureOf(error);
  const bar = barOf(error);
  if (bar !== null) {
    await noteBar(deps, installationId, row, bar);
    return bar === "suspended";
  }
  const fields = {
    repositoryId: row.repositoryId,
    issue: row.issueNumber,
    promise: row.promise,
    attempts: row.attempts,
  };
  const seconds = failure.retryAfterSeconds ?? backoffSeconds(row.attempts);
  // Right after an event GitHub may still answer 404 (github-cases 71): one refusal is not yet final.
  const isRefused = failure.kind === "refused" && !(isAbsent(error) && row.attempts < 4);
  const isFinal = isRefused || row.attempts >= MAX_ATTEMPTS;
  if (isFinal) {
    deps.log.error(
      { ...fields, reason: failure.message },
      "GitHub refuses what was promised; it is kept as failed",
    );
    await breakPromise(deps.db, row, failure.message);
    return false;
  }
  deps.log.warn(
    { ...fields, reason: failure.message, retryInSeconds: seconds },
    "writing to GitHub will be tried again",
  );
  // Neither is about this one row. The pause comes first: should we die now, others wait all the same.
  const isGeneral = failure.kind === "rate_limited" || failure.kind === "unauthorized";
  if (isGeneral) await pauseInstallation(deps.db, installationId, seconds);
  await postponePromise(deps.db, row, failure.message, seconds);
  return isGeneral;
}

/** Nothing is written until GitHub says that the bar is lifted; the promise waits for it. */
async function noteBar(
  deps: Deps,
  installationId: number,
  row: OutboxRow,
  bar: "archived" | "suspended",
): Promise<void> {
  deps.log.warn(
    { installationId, repositoryId: row.repositoryId, bar },
    "GitHub bars the App, and no event told of it; writing waits until that is lifted",
  );
  if (bar === "archived") await markArchived(deps.db, row.repositoryId);
  else await deps.db.transaction().execute((trx) => markSuspended(trx, installationId, true));
}
