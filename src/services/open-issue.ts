/**
 * Opens one issue of a request on GitHub, once: that GitHub is about to be asked is written down first, the number as
 * soon as it is known, and after a lost answer the issue is looked for by its mark. Never in a transaction.
 */

import { Problem } from "../contract/problem.ts";
import { isThatIssue, markedIssue, type NewIssue } from "../domain/issue-mark.ts";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";
import type { Client } from "../github/connection.ts";
import { barOf, failureOf, isAbsent } from "../github/failure.ts";
import { createIssue, findOwnIssue, readIssue } from "../github/issues.ts";
import { issueSnapshot } from "../github/snapshots.ts";
import { markTried, type Slot, saveNumber, type Work } from "../store/authoring.ts";
import { databaseNow } from "../store/clock.ts";
import { findIssue, recentIssues } from "../store/mirror.ts";
import { markArchived, type Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";

/** A request that is being worked on, and where. */
export interface Scene {
  readonly repository: Repository;
  readonly installationId: number;
  readonly client: Client;
  readonly work: Work;
}

/** Another works on the same request, or did until a moment ago. */
export const busy = (): Problem =>
  new Problem("conflict", "this request is being worked on already; send it again in a moment", {
    retryAfterMs: 2000,
  });

/** GitHub's clock and the database's may differ by this much. */
const CLOCK_SLACK_MS = 10 * 60_000;

export async function openIssue(
  deps: Deps,
  scene: Scene,
  slot: Slot,
  wanted: { readonly title: string; readonly body: string; readonly labels: readonly string[] },
): Promise<IssueSnapshot> {
  return askingGitHub(deps, scene, async () => {
    if (slot.number !== null) return openedBefore(deps, scene, slot.number);
    const sent = markedIssue(wanted.title, wanted.body, slot.mark);
    const found = slot.triedAt && (await look(deps, scene, sent, slot.triedAt));
    const issue = found ?? (await open(deps, scene, slot, sent, wanted.labels));
    await saveNumber(deps.db, scene.work, slot.ref, issue.number);
    return issue;
  });
}

async function open(
  deps: Deps,
  scene: Scene,
  slot: Slot,
  sent: NewIssue,
  labels: readonly string[],
): Promise<IssueSnapshot> {
  if (!(await markTried(deps.db, scene.work, slot.ref))) throw busy();
  try {
    return issueSnapshot(await createIssue(scene.client, scene.repository, sent, labels));
  } catch (error) {
    if (failureOf(error).kind !== "transient") {
      // An earlier try whose answer was lost may still have opened it.
      await markTried(deps.db, scene.work, slot.ref, slot.triedAt);
      throw error;
    }
    // A lost answer: it may have been opened all the same.
    const found = await look(deps, scene, sent, await databaseNow(deps.db)).catch(() => null);
    if (found === null) throw error;
    return found;
  }
}

/** Its webhook may have come before GitHub lists it. */
async function look(
  deps: Deps,
  { repository, client }: Scene,
  sent: NewIssue,
  triedAt: Date,
): Promise<IssueSnapshot | null> {
  const since = new Date(triedAt.getTime() - CLOCK_SLACK_MS);
  const appId = deps.github.app?.appId ?? 0;
  const mirrored = await recentIssues(deps.db, repository.id, appId, since);
  const heard = mirrored.find((issue) => isThatIssue(issue, sent));
  if (heard) return heard;
  const listed = await findOwnIssue(client, repository, { sent, appId, since });
  return listed && issueSnapshot(listed);
}

async function openedBefore(
  deps: Deps,
  { repository, client }: Scene,
  number: number,
): Promise<IssueSnapshot> {
  const mirrored = await findIssue(deps.db, repository.id, number);
  if (mirrored?.gone) throw gone(number);
  if (mirrored) return mirrored.issue;
  try {
    return issueSnapshot(await readIssue(client, repository, number));
  } catch (error) {
    if (isAbsent(error)) throw gone(number);
    throw error;
  }
}

/** What was opened for a request is not there any more. */
export const gone = (number: number): Problem =>
  new Problem("conflict", `#${number}, which was opened for this request, is not there any more; ask anew`);

/** Runs what asks GitHub; its failures become problems that say what to do. */
export async function askingGitHub<T>(deps: Deps, scene: Scene, question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw await problemOf(deps, scene, error);
  }
}

async function problemOf(deps: Deps, { repository }: Scene, error: unknown): Promise<Problem> {
  const failure = failureOf(error);
  const { message, status, retryAfterSeconds } = failure;
  deps.log.warn({ repositoryId: repository.id, reason: message }, "GitHub could not be told of a new issue");
  const name = `${repository.owner}/${repository.name}`;
  if (failure.kind === "rate_limited") {
    const seconds = retryAfterSeconds ?? 60;
    return unavailable(`GitHub asks to wait; send the same request again then. It said: ${message}`, seconds);
  }
  if (barOf(error) === "archived") {
    await markArchived(deps.db, repository.id);
    return archived(repository);
  }
  if (status === 410) return new Problem("conflict", `issues are turned off in ${name}: turn them on first`);
  if (failure.kind === "barred" || status === 404) {
    return new Problem(
      "github_unavailable",
      `GitHub does not let the App open issues in ${name}: see that it is installed there with the permission Issues: write. It said: ${message}`,
    );
  }
  if (failure.kind === "refused")
    return new Problem("validation_failed", `GitHub refuses the issue. It said: ${message}`);
  return unavailable(
    `GitHub did not confirm it; send the same request again, which goes on from here. It said: ${message}`,
    retryAfterSeconds ?? 5,
  );
}

export const archived = ({ owner, name }: Repository): Problem =>
  new Problem("conflict", `${owner}/${name} is archived: nothing can be opened there`);

export const unavailable = (detail: string, seconds: number): Problem =>
  new Problem("github_unavailable", detail, { retryAfterMs: seconds * 1000 });
