/** A pull request as it was read or announced, with what its merge means for its items (protocol 8). */

import type { GitHubPull } from "../contract/github-payloads.ts";
import { closingReferences } from "../domain/closing-keywords.ts";
import { revertedComment } from "../domain/comments.ts";
import { isNewsOfMerge, itemsOfPull, judgeMerge, type MergedPull } from "../domain/completion.ts";
import { fieldDrift } from "../domain/drift.ts";
import { endDecidedAt } from "../domain/issue-transitions.ts";
import { isPlaceOfWork } from "../domain/own-pull.ts";
import { itemRef, type RecordRef } from "../domain/record-key.ts";
import { tagValue } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { readPullCommits } from "../github/pull-reads.ts";
import { hostOf, pullSnapshot } from "../github/snapshots.ts";
import type { Db, Trx } from "../store/database.ts";
import { integrationItemsAt, isGroupingItem } from "../store/groupings.ts";
import { itemsAtBranch } from "../store/handover.ts";
import { openIncident } from "../store/incidents.ts";
import { lockItem } from "../store/item-lock.ts";
import { findItem, itemsRecordingPull } from "../store/items.ts";
import { findIssue } from "../store/mirror.ts";
import { promise } from "../store/outbox.ts";
import { findPull, type PullSnapshot } from "../store/pulls.ts";
import { findRecord, setRecordTags } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { completeItem } from "./item-changes.ts";
import { takePull } from "./item-review.ts";

/** Some payloads say that it was merged, and not when (github-cases 53). */
export function snapshotOfPull(repository: Repository, raw: GitHubPull): PullSnapshot {
  const snapshot = pullSnapshot(raw, { ...repository, host: hostOf(raw.html_url) });
  return { ...snapshot, mergedAt: snapshot.mergedAt ?? (raw.merged ? raw.updated_at : null) };
}

/**
 * Takes up a pull request as it was read, with its merge if no event told of it. `between` runs in the same transaction,
 * after it is stored and before its items are judged. One that the mirror has just so is left alone, unless there is
 * something to be done `between`.
 */
export async function takeReadPull(
  deps: Deps,
  client: Client,
  repository: Repository,
  raw: GitHubPull,
  between: ((trx: Trx) => Promise<void>) | null = null,
): Promise<void> {
  const snapshot = snapshotOfPull(repository, raw);
  const before = await findPull(deps.db, repository.id, raw.number);
  if (between === null && before !== null && fieldDrift({ ...before }, { ...snapshot }).length === 0) return;
  const { mergedAt } = snapshot;
  const isNews = isNewsOfMerge({ action: null, mergedAt }, before, repository.knownSince);
  const items = isNews ? await itemsMerged(deps, client, repository, raw) : [];
  await deps.db.transaction().execute(async (trx) => {
    await takePull(trx, repository, snapshot, async () => between?.(trx));
    if (isNews && mergedAt !== null) await mergeIntoItems(trx, repository, items, raw, mergedAt);
  });
}

/**
 * The items that a merged pull request is about: by its text, its commits, its record or its branch; and of one that reverts
 * another, those that the other may have completed.
 */
export async function itemsMerged(
  deps: Pick<Deps, "db">,
  client: Client | null,
  repository: Repository,
  raw: GitHubPull,
): Promise<number[]> {
  const repo = { ...repository, host: hostOf(raw.html_url) };
  const text = closingReferences(raw.body ?? null, repo);
  // A revert quotes what it takes back.
  if (text.reverts !== null) return itemsRecordingPull(deps.db, repository.id, text.reverts);
  const messages = client === null ? [] : await readPullCommits(client, repository, raw.number);
  const closes = messages.flatMap((message) => closingReferences(message, repo).closes);
  const pull: MergedPull = {
    number: raw.number,
    baseRef: raw.base.ref,
    headRef: raw.head.ref,
    sameRepository: raw.head.repo?.id === repository.id,
  };
  const recorded = await itemsRecordingPull(deps.db, repository.id, raw.number);
  const here = pull.sameRepository ? await itemsOfHead(deps.db, repository, pull.headRef) : [];
  return itemsOfPull(pull, [...text.closes, ...closes], [...recorded, ...here]);
}

/** Items whose work is on a branch of this repository, as their epic or their holder's last location says. */
async function itemsOfHead(db: Db, repository: Repository, head: string): Promise<number[]> {
  const items = await integrationItemsAt(db, repository.id, head);
  for (const number of await itemsAtBranch(db, repository.id, head)) {
    const record = await findRecord(db, itemRef(repository.id, number));
    if (record && isPlaceOfWork(head, { number, tags: record.tags }, repository.defaultBranch))
      items.push(number);
  }
  return items;
}

/** What the merge means for each of the items; under their locks, which this takes. */
export async function mergeIntoItems(
  trx: Trx,
  repository: Repository,
  items: readonly number[],
  { number: pull, base, body, html_url }: GitHubPull,
  mergedAt: Date,
): Promise<void> {
  const { reverts } = closingReferences(body ?? null, { ...repository, host: hostOf(html_url) });
  const merge = { number: pull, baseRef: base.ref };
  for (const number of items) {
    if (reverts === null) await mergeInto(trx, repository, number, merge, mergedAt);
    else await tellOfRevert(trx, repository, number, reverts, merge, mergedAt);
  }
}

/** An item that is complete by a merge stays so when that is reverted, and its issue is told (github-cases 61). */
async function tellOfRevert(
  trx: Trx,
  repository: Repository,
  number: number,
  reverted: number,
  by: { number: number; baseRef: string },
  mergedAt: Date,
): Promise<void> {
  await lockItem(trx, repository.id, number);
  const item = await findItem(trx, repository.id, number);
  const tags = (await findRecord(trx, itemRef(repository.id, number)))?.tags ?? [];
  const mirrored = await findIssue(trx, repository.id, number);
  if (!item?.enrolled || item.state !== "complete" || mirrored?.gone) return;
  if (!tags.includes(`pr:${reverted}`) || tagValue(tags, "baseBranch:") !== by.baseRef) return;
  // It was taken up again and completed by something else since.
  const decidedAt = endDecidedAt(item);
  if (decidedAt !== null && mergedAt < decidedAt) return;
  await promise(trx, {
    repositoryId: repository.id,
    issueNumber: number,
    promise: `reverted:${number}:${by.number}`,
    effect: { kind: "comment", body: revertedComment(number, reverted, by.number) },
  });
}

async function mergeInto(
  trx: Trx,
  repository: Repository,
  number: number,
  pull: { number: number; baseRef: string },
  mergedAt: Date,
): Promise<void> {
  const ref = itemRef(repository.id, number);
  await lockItem(trx, repository.id, number);
  const item = await findItem(trx, repository.id, number);
  const record = await findRecord(trx, ref);
  const mirrored = await findIssue(trx, repository.id, number);
  if (!item?.enrolled || !record || mirrored?.gone) return;
  const baseBranch = tagValue(record.tags, "baseBranch:");
  // Late: the item was reopened, say, after this merge.
  const decidedAt = endDecidedAt(item);
  if (decidedAt !== null && mergedAt < decidedAt && item.state === null) return;
  const isGrouping = await isGroupingItem(trx, repository.id, number, record.tags);
  switch (judgeMerge(pull, { state: item.state, baseBranch, isGrouping })) {
    case "nothing":
      // GitHub's own close may have been heard of first; the merge is recorded all the same.
      return pull.baseRef === baseBranch && !isGrouping
        ? recordPull(trx, ref, record.tags, pull.number)
        : undefined;
    case "complete":
      return completeItem(trx, { repository, number }, { pull: pull.number, base: pull.baseRef }, mergedAt);
    case "wrong_base":
      return openIncident(trx, {
        repositoryId: repository.id,
        number,
        code: "wrong_base",
        value: pull.baseRef,
        detail:
          `pull request #${pull.number} was merged into ${pull.baseRef}, not into the item's base branch ` +
          `${baseBranch ?? "(missing)"}; merge that work there to complete the item`,
      });
  }
}

async function recordPull(trx: Trx, ref: RecordRef, tags: readonly string[], pull: number): Promise<void> {
  const tag = `pr:${pull}`;
  if (!tags.includes(tag)) await setRecordTags(trx, ref, [...tags, tag]);
}
