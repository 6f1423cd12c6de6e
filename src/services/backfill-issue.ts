/**
 * One issue of a reading (a backfill or a reconcile): applied as if it had been announced, its item decided by the
 * issue's history.
 */

import { isDeepStrictEqual } from "node:util";
import type { GitHubIssue } from "../contract/github-payloads.ts";
import { UNOPENED } from "../domain/body-trail.ts";
import { isSameIssue } from "../domain/drift.ts";
import { leavesQuestion } from "../domain/history-plan.ts";
import { type IssueSnapshot, mergeIssue } from "../domain/mirror-merge.ts";
import { knownIssue } from "../domain/plain-issue-event.ts";
import { itemRef } from "../domain/record-key.ts";
import type { Client } from "../github/connection.ts";
import { isDeleted } from "../github/failure.ts";
import { readIssue } from "../github/link-reads.ts";
import { hostOf, issueSnapshot, pullStub } from "../github/snapshots.ts";
import { saveBodyTrail } from "../store/body-trails.ts";
import { hasPendingDelivery } from "../store/inbox.ts";
import { findIssue, lockIssue, type MirroredIssue, markGone, saveIssue } from "../store/mirror.ts";
import { findPull, savePull } from "../store/pulls.ts";
import { lockRecord } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import { NEWS_SECONDS } from "./body-trails.ts";
import type { Deps } from "./deps.ts";
import { holdSettings } from "./hold-settings.ts";
import { askHistory } from "./issue-history.ts";
import { knownItem } from "./issue-transitions.ts";
import { ChangedMeanwhile } from "./settle-delivery.ts";
import { syncIssueLinks } from "./sync-issue-links.ts";

/** What the reading that lists the issue knows. */
export interface Reading {
  /** Events of before are known, unless something of the issue says otherwise; null: no events are. */
  readonly from: Date | null;
  /** GitHub's time now; null where nothing can have been missed. */
  readonly now: Date | null;
}

/** Takes up an issue as it is listed. A pull request among them leaves its stub. Reading one twice changes nothing. */
export async function takeIssue(
  deps: Deps,
  client: Client,
  repository: Repository,
  listed: GitHubIssue,
  reading: Reading,
): Promise<void> {
  if (listed.pull_request) {
    if ((await findPull(deps.db, repository.id, listed.number)) !== null) return;
    const stub = pullStub(listed, { ...repository, host: hostOf(listed.html_url) });
    await deps.db.transaction().execute((trx) => savePull(trx, repository.id, stub));
    return;
  }
  await syncIssueLinks(deps, client, repository, listed).catch(nullIfDeleted);
  const before = await findIssue(deps.db, repository.id, listed.number);
  if (before?.gone) return;
  const raw = await settled(client, repository, listed, before);
  if (raw === null) return;
  const incoming = issueSnapshot(raw);
  // What is stored is newer than what GitHub shows just now: its events know better.
  if (before && before.issue.updatedAt > incoming.updatedAt) return;
  const isUntold = (before?.trail?.untoldAsOf ?? null) !== null;
  const bodyChanged = before !== null && (isUntold || before.issue.body !== incoming.body);
  if (bodyChanged && (await mayBeTold(deps, repository, incoming, reading))) return;
  const isKnown =
    reading.from !== null &&
    incoming.updatedAt < reading.from &&
    before !== null &&
    !isUntold &&
    isSameIssue(before.issue, incoming);
  if (isKnown) {
    const item = await knownItem(deps.db, repository, incoming.number);
    if (!leavesQuestion(knownIssue(incoming), item, repository.settings)) return;
  }
  const wasOpen = reading.from !== null && incoming.createdAt >= reading.from;
  const question = { issue: incoming, wasOpen, bodyChanged: bodyChanged && reading.now !== null };
  const history = await askHistory(deps, client, repository, question).catch(nullIfDeleted);
  if (history === null) return;
  await deps.db.transaction().execute(async (trx) => {
    await holdSettings(trx, repository);
    await lockRecord(trx, itemRef(repository.id, incoming.number));
    const stored = await lockIssue(trx, repository.id, incoming.number);
    // An event that came while GitHub was asked may know better: look again.
    if (!isDeepStrictEqual(stored, before)) throw new ChangedMeanwhile();
    if (stored === null || !isDeepStrictEqual(stored.issue, incoming)) {
      await saveIssue(trx, repository.id, incoming);
    }
    await history.apply(trx);
    // The text is decided upon, whoever wrote it.
    if (stored?.trail && (reading.now !== null || stored.trail.told === UNOPENED))
      await saveBodyTrail(trx, repository.id, incoming.number, null);
    if (history.converted) await markGone(trx, repository.id, incoming.number, "converted");
  });
}

/**
 * The issue as it is to be taken. Where the mirror has another of the same second, or a newer one, the list may be older
 * than an event: what is in doubt is read once more, now that the mirror is known. Null: it is not there any more.
 */
async function settled(
  client: Client,
  repository: Repository,
  listed: GitHubIssue,
  before: MirroredIssue | null,
): Promise<GitHubIssue | null> {
  const incoming = issueSnapshot(listed);
  const isOlder = mergeIssue(before?.issue ?? null, incoming, { action: null, label: null }).kind === "older";
  if (before === null || !isOlder || isDeepStrictEqual(before.issue, incoming)) return listed;
  return readIssue(client, repository, listed.number);
}

/** Whether an event may still tell who edited the body: then it is left to that event, or to the next reading. */
async function mayBeTold(
  deps: Deps,
  repository: Repository,
  { number, updatedAt }: IssueSnapshot,
  { now }: Reading,
): Promise<boolean> {
  if (now === null || !(await knownItem(deps.db, repository, number))?.admitted) return false;
  const isNews = now.getTime() - updatedAt.getTime() < NEWS_SECONDS * 1000;
  return isNews || (await hasPendingDelivery(deps.db, repository.id, `issue:${number}`));
}

/** Deleted since it was listed. */
function nullIfDeleted(error: unknown): null {
  if (isDeleted(error)) return null;
  throw error;
}
