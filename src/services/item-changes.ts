/**
 * Changes of an item's state, each whole: the record's tag (which is the truth), the item's row, the claim,
 * and what GitHub is to be told, in one transaction. Callers hold the record's lock.
 */

import { type Completion, completedComment, parkedComment, SELF } from "../domain/comments.ts";
import { type ItemState, stateTags } from "../domain/item-state.ts";
import { itemRef } from "../domain/record-key.ts";
import { hasLabel, withTag } from "../domain/tags.ts";
import { type Claim, endClaim, findClaim } from "../store/claims.ts";
import type { Trx } from "../store/database.ts";
import { closeIncidents } from "../store/incidents.ts";
import { findItem, forgiveAttempts, noteStillOpen, setState, wasParked } from "../store/items.ts";
import { findIssue } from "../store/mirror.ts";
import { labelPromise, promise, settlePromise } from "../store/outbox.ts";
import { findRecord, setRecordTags } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import { changingRole } from "./changing-role.ts";
import { reviewItems } from "./item-review.ts";

export interface ItemAt {
  readonly repository: Repository;
  readonly number: number;
}

export const outcomePromise = (number: number, fence: number, result: string): string =>
  `outcome:${number}:${fence}:${result}`;

async function setStateTag(
  trx: Trx,
  { repository, number }: ItemAt,
  state: ItemState,
  pull?: number,
): Promise<void> {
  const ref = itemRef(repository.id, number);
  const record = await findRecord(trx, ref);
  if (!record) throw new Error(`item ${number} of repository ${repository.id} has no record`);
  const tags = withTag(record.tags, "state:", stateTags(state));
  const withPull = pull === undefined || tags.includes(`pr:${pull}`) ? tags : [...tags, `pr:${pull}`];
  await setRecordTags(trx, ref, withPull);
}

/** Ends the claim if one is live: the former holder is refused from then on. Answers the claim there was. */
export async function endLiveClaim(
  trx: Trx,
  at: ItemAt,
  how: "completed" | "parked" | "released",
): Promise<Claim | null> {
  const ref = itemRef(at.repository.id, at.number);
  const found = await findClaim(trx, ref);
  if (found?.claim.live) await endClaim(trx, ref, found.claim.fence, how);
  return found?.claim ?? null;
}

async function issueIsOpen(trx: Trx, { repository, number }: ItemAt): Promise<boolean> {
  const mirrored = await findIssue(trx, repository.id, number);
  return mirrored !== null && mirrored.gone === null && mirrored.issue.open;
}

/**
 * Completes the item (protocol 8): tag, pull request, claim ended, outcome posted, issue closed. An integration item
 * completes its epic with it. `actor`: who brought it about, where `by` does not say.
 */
export async function completeItem(
  trx: Trx,
  at: ItemAt,
  by: Completion,
  eventAt: Date | null,
  actor: string = actorOf(by),
): Promise<void> {
  const { repository, number } = at;
  await changingRole(trx, at, { trigger: "complete", actor }, () => complete(trx, at, by, eventAt));
  const item = await findItem(trx, repository.id, number);
  const epic = item?.integrates ? await findItem(trx, repository.id, item.integrates) : null;
  if (epic?.enrolled && epic.state !== "complete" && epic.number !== number) {
    await completeItem(trx, { repository, number: epic.number }, { integration: number }, eventAt, actor);
  }
}

function actorOf(by: Completion): string {
  if ("pull" in by) return `#${by.pull}`;
  return "human" in by ? by.human : SELF;
}

async function complete(trx: Trx, at: ItemAt, by: Completion, eventAt: Date | null): Promise<void> {
  const { repository, number } = at;
  await setStateTag(trx, at, "complete", "pull" in by ? by.pull : undefined);
  await setState(trx, repository.id, number, { state: "complete", by: actorOf(by), eventAt });
  await closeIncidents(trx, repository.id, number, ["wrong_base", "doubtful_merge"]);
  const claim = await endLiveClaim(trx, at, "completed");
  // A human who closes an item that nobody ever claimed needs no comment about it.
  if (claim !== null || !("human" in by)) {
    const fence = claim?.fence ?? 0;
    await promise(trx, {
      repositoryId: repository.id,
      issueNumber: number,
      promise: outcomePromise(number, fence, "complete"),
      effect: { kind: "comment", body: completedComment({ number, owner: claim?.owner ?? SELF, fence }, by) },
    });
  }
  // A human's close that agents took back is not done again: two bots would go on for ever.
  if (!("human" in by) && (await issueIsOpen(trx, at))) {
    await promise(trx, {
      repositoryId: repository.id,
      issueNumber: number,
      promise: `close:${number}`,
      effect: { kind: "close_issue", reason: "completed" },
    });
  }
}

export interface Park {
  readonly by: string;
  readonly reason: string;
  readonly note?: string | null;
  readonly rulingOwner?: string | null;
  readonly question?: string | null;
  readonly eventAt: Date | null;
}

/** A human put the label on the issue: whoever did can say what is to be decided. */
export const parkByLabel = (by: string, eventAt: Date): Park => ({
  by,
  reason: `@${by} added the label`,
  rulingOwner: by,
  eventAt,
});

/** Parks the item (protocol 5): tag first, then the label and a comment saying why. */
export async function parkItem(trx: Trx, at: ItemAt, park: Park): Promise<void> {
  const { by, reason } = park;
  await changingRole(trx, at, { trigger: "park", actor: by, summary: reason }, () => doPark(trx, at, park));
}

async function doPark(trx: Trx, at: ItemAt, park: Park): Promise<void> {
  const { repository, number } = at;
  await setStateTag(trx, at, "parked");
  await setState(trx, repository.id, number, {
    state: "parked",
    by: park.by,
    eventAt: park.eventAt,
    parkReason: park.reason,
    rulingOwner: park.rulingOwner ?? null,
    question: park.question ?? null,
  });
  const claim = await endLiveClaim(trx, at, "parked");
  const staleLabel = repository.settings.labels.stale;
  const mirrored = await findIssue(trx, repository.id, number);
  if (!hasLabel(mirrored?.issue.labels ?? [], staleLabel)) await promiseLabel(trx, at, staleLabel);
  const fence = claim?.fence ?? 0;
  const news = {
    number,
    owner: claim?.owner ?? SELF,
    fence,
    reason: park.reason,
    note: park.note ?? null,
    ruling: park.rulingOwner && park.question ? { owner: park.rulingOwner, question: park.question } : null,
    staleLabel,
  };
  await promise(trx, {
    repositoryId: repository.id,
    issueNumber: number,
    promise: outcomePromise(number, fence, "parked"),
    effect: { kind: "comment", body: parkedComment(news) },
  });
}

/** A human unparks: only fences granted from now on count, and the item is ready again. */
export async function unparkItem(trx: Trx, at: ItemAt, by: string, eventAt: Date): Promise<void> {
  const { repository, number } = at;
  await changingRole(trx, at, { trigger: "unpark", actor: by }, async () => {
    await setStateTag(trx, at, null);
    await setState(trx, repository.id, number, { state: null, by, eventAt });
  });
  await reviewItems(trx, repository, [number]);
  await forgiveAttempts(trx, repository.id, number);
  await closeIncidents(trx, repository.id, number, ["label_removed_by_agent"]);
  await settlePromise(trx, repository.id, labelPromise(number, repository.settings.labels.stale), "unparked");
}

/** The issue was closed as not planned, or is gone: out of the ready set, and not a satisfied blocker. */
export async function cancelItem(
  trx: Trx,
  at: ItemAt,
  by: string,
  eventAt: Date | null,
  summary: string | null = null,
): Promise<void> {
  await changingRole(trx, at, { trigger: "cancel", actor: by, summary }, async () => {
    await setStateTag(trx, at, "cancelled");
    await setState(trx, at.repository.id, at.number, { state: "cancelled", by, eventAt });
    await endLiveClaim(trx, at, "released");
  });
}

/** A reopened issue brings its item back to life; attempts go on counting. What was parked is parked again. */
export async function reopenItem(
  trx: Trx,
  at: ItemAt,
  by: string,
  eventAt: Date | null,
  summary: string | null = null,
): Promise<void> {
  const { repository, number } = at;
  const parked = await wasParked(trx, repository.id, number);
  await settlePromise(trx, repository.id, `close:${number}`, "reopened");
  if (eventAt !== null) await noteStillOpen(trx, repository.id, number, eventAt);
  if (parked) {
    const reason = "It was parked before it was closed, and reopening does not unpark.";
    return parkItem(trx, at, { by, reason, eventAt });
  }
  await changingRole(trx, at, { trigger: "reopen", actor: by, summary }, async () => {
    await setStateTag(trx, at, null);
    await setState(trx, repository.id, number, { state: null, by, eventAt });
  });
  await reviewItems(trx, repository, [number]);
}

/** Promises a label on the issue. */
export async function promiseLabel(trx: Trx, { repository, number }: ItemAt, label: string): Promise<void> {
  await promise(trx, {
    repositoryId: repository.id,
    issueNumber: number,
    promise: labelPromise(number, label),
    effect: { kind: "add_label", label },
  });
}
