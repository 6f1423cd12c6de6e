/** Pull requests: mirrored, and what they mean for their items; a merge completes those it is about (protocol 8). */

import type { z } from "zod";
import type { PullRequestPayload } from "../contract/github-payloads.ts";
import { closingReferences } from "../domain/closing-keywords.ts";
import { itemsOfPull, judgeMerge, type MergedPull } from "../domain/completion.ts";
import { itemRef, type RecordRef } from "../domain/record-key.ts";
import { tagValue } from "../domain/tags.ts";
import { readPullCommits } from "../github/reads.ts";
import { hostOf, pullSnapshot } from "../github/snapshots.ts";
import type { Trx } from "../store/database.ts";
import { integrationItemsAt, isGroupingItem } from "../store/groupings.ts";
import { lockItem } from "../store/item-lock.ts";
import { findItem, itemsRecordingPull, markActive, openIncident } from "../store/items.ts";
import { findIssue } from "../store/mirror.ts";
import { findRecord, setRecordTags } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { completeItem } from "./item-changes.ts";
import { takePull } from "./item-review.ts";
import { knownRepository } from "./known-repository.ts";
import { settleDelivery } from "./settle-delivery.ts";
import { clientOf } from "./supervise-requests.ts";

type Payload = z.infer<typeof PullRequestPayload>;

/** Applies one `pull_request` delivery. */
export async function applyPullRequest(deps: Deps, seq: number, payload: Payload): Promise<void> {
  const repository = await knownRepository(deps, payload);
  if (!repository) return settleDelivery(deps, seq, async () => {});
  const raw = payload.pull_request;
  const repo = { owner: repository.owner, name: repository.name, host: hostOf(raw.html_url) };
  const snapshot = pullSnapshot(raw, repo);
  const mergedAt = snapshot.mergedAt ?? (raw.merged ? raw.updated_at : null);
  const merged = payload.action === "closed" && mergedAt !== null;
  const items = merged ? await itemsMerged(deps, repository, payload, repo) : [];

  await settleDelivery(deps, seq, async (trx) => {
    await takePull(trx, repository, { ...snapshot, mergedAt });
    if (WORK.has(payload.action)) {
      for (const number of await ownItems(trx, repository, raw, snapshot.closes))
        await markActive(trx, repository.id, number);
    }
    if (!merged) return;
    for (const number of items) {
      await mergeInto(trx, repository, number, { number: raw.number, baseRef: raw.base.ref }, mergedAt);
    }
  });
  deps.wake.pulls();
}

/** What happens to a pull request when somebody goes on working on it. */
const WORK: ReadonlySet<string> = new Set([
  "opened",
  "synchronize",
  "edited",
  "reopened",
  "ready_for_review",
  "converted_to_draft",
]);

/** The items that an open pull request is the work of: only one from a branch of this repository is (protocol 6). */
async function ownItems(
  trx: Trx,
  repository: Repository,
  raw: Payload["pull_request"],
  closes: readonly number[],
): Promise<number[]> {
  if (raw.head.repo?.id !== repository.id) return [];
  const pull = { number: raw.number, baseRef: raw.base.ref, headRef: raw.head.ref, sameRepository: true };
  return itemsOfPull(pull, closes, await integrationItemsAt(trx, repository.id, pull.headRef));
}

/** The items that a merged pull request is about: by its text, its commits, its record or its branch. */
async function itemsMerged(
  deps: Deps,
  repository: Repository,
  payload: Payload,
  repo: { owner: string; name: string; host: string },
): Promise<number[]> {
  const raw = payload.pull_request;
  const text = closingReferences(raw.body ?? null, repo);
  // A revert quotes what it takes back.
  if (text.reverts !== null) return [];
  const installationId = payload.installation?.id ?? repository.installationId;
  const messages =
    installationId === null
      ? []
      : await readPullCommits(await clientOf(deps, installationId), repository, raw.number);
  const closes = messages.flatMap((message) => closingReferences(message, repo).closes);
  const pull: MergedPull = {
    number: raw.number,
    baseRef: raw.base.ref,
    headRef: raw.head.ref,
    sameRepository: raw.head.repo?.id === repository.id,
  };
  const recorded = await itemsRecordingPull(deps.db, repository.id, raw.number);
  const integrating = pull.sameRepository
    ? await integrationItemsAt(deps.db, repository.id, pull.headRef)
    : [];
  return itemsOfPull(pull, [...text.closes, ...closes], [...recorded, ...integrating]);
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
  if (item.stateEventAt !== null && mergedAt < item.stateEventAt && item.state === null) return;
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
