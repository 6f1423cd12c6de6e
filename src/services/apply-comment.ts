/** A comment on an issue: mirrored, and counted when it is a claim marker that can be trusted (protocol 4). */

import type { z } from "zod";
import type { IssueCommentPayload } from "../contract/github-payloads.ts";
import { isListedAgent } from "../domain/human.ts";
import { type Marker, parseMarker } from "../domain/marker.ts";
import {
  type MarkerFacts,
  type MarkerOrigin,
  markerCounts,
  markerProvesFence,
} from "../domain/marker-trust.ts";
import { mergeIssue } from "../domain/mirror-merge.ts";
import { itemRef } from "../domain/record-key.ts";
import { commentSnapshot, issueSnapshot } from "../github/snapshots.ts";
import { countMarker, raiseFence, wasGranted } from "../store/claims.ts";
import { type CommentSnapshot, markCommentDeleted, saveComment } from "../store/comments.ts";
import type { Trx } from "../store/database.ts";
import { markActive } from "../store/items.ts";
import { lockIssue, saveIssue } from "../store/mirror.ts";
import { claimPromise, settlePromise } from "../store/outbox.ts";
import { lockRecord } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import { isHoldersLogin } from "../store/tokens.ts";
import { keepBodyTrail } from "./body-trails.ts";
import type { Deps } from "./deps.ts";
import { outcomePromise } from "./item-changes.ts";
import { knownRepository } from "./known-repository.ts";
import { settleDelivery } from "./settle-delivery.ts";

type Payload = z.infer<typeof IssueCommentPayload>;

/** Applies one `issue_comment` delivery. */
export async function applyComment(deps: Deps, seq: number, payload: Payload): Promise<void> {
  const repository = await knownRepository(deps, payload);
  if (!repository || payload.issue.pull_request) return settleDelivery(deps, seq, async () => {});
  const { number } = payload.issue;
  const comment = commentSnapshot(payload.comment, number);
  await settleDelivery(deps, seq, async (trx) => {
    await lockRecord(trx, itemRef(repository.id, number));
    const stored = await lockIssue(trx, repository.id, number);
    if (stored?.gone) return;
    const change = mergeIssue(stored?.issue ?? null, issueSnapshot(payload.issue), {
      action: null,
      label: null,
    });
    if (change.kind === "save") {
      await saveIssue(trx, repository.id, change.issue);
      const brought = { issue: change.issue, told: null, at: change.issue.updatedAt };
      await keepBodyTrail(trx, { repository, number }, stored, brought);
    }
    if (!["created", "edited", "deleted"].includes(payload.action)) return;
    await saveComment(trx, repository.id, comment);
    // Kept as deleted, so that its creation, should it be heard of later, does not bring it back.
    if (payload.action === "deleted") return markCommentDeleted(trx, repository.id, comment.id);
    // A marker edited into an old comment adds nothing; one that was counted stays counted.
    if (payload.action !== "created") return;
    await takeMarker(trx, deps, repository, comment);
    // Who holds the item, or held it when its lease lapsed, is still at it (protocol 4, "Quarantine").
    if (
      comment.authorLogin !== null &&
      (await isHoldersLogin(trx, itemRef(repository.id, number), comment.authorLogin))
    )
      await markActive(trx, repository.id, number);
  });
}

/** Takes what a comment's marker, if it has one, tells: the attempt, what the outbox no longer owes, the token. */
export async function takeMarker(
  trx: Trx,
  deps: Pick<Deps, "github">,
  repository: Repository,
  comment: CommentSnapshot,
): Promise<void> {
  const marker = parseMarker(comment.body);
  if (marker?.number === comment.issueNumber)
    await countMarkerIfTrusted(trx, deps, repository, comment, marker);
  await heedFence(trx, deps, comment);
}

/**
 * Raises the token sequence, if a marker of our own shows that it is behind. Outcomes prove a token as claims do, and
 * so does a marker on an issue that is closed, or that was transferred and has another number now.
 */
export async function heedFence(
  trx: Trx,
  deps: Pick<Deps, "github">,
  comment: CommentSnapshot,
): Promise<void> {
  const marker = parseMarker(comment.body);
  if (marker === null || !markerProvesFence(originOf(deps, comment))) return;
  await raiseFence(
    trx,
    marker.fence,
    `the App's own marker on #${comment.issueNumber} carries ${marker.fence}`,
  );
}

const originOf = (deps: Pick<Deps, "github">, comment: CommentSnapshot): MarkerOrigin => ({
  byApp: comment.viaAppId !== null && comment.viaAppId === (deps.github.app?.appId ?? null),
  edited: comment.updatedAt.getTime() > comment.createdAt.getTime(),
});

async function countMarkerIfTrusted(
  trx: Trx,
  deps: Pick<Deps, "github">,
  repository: Repository,
  comment: CommentSnapshot,
  marker: Marker,
): Promise<void> {
  const facts: MarkerFacts = {
    ...originOf(deps, comment),
    byListedAgent: isListedAgent(comment.authorLogin, repository.settings.agents),
    association: comment.authorAssociation,
    granted: await wasGranted(trx, itemRef(repository.id, marker.number), marker.fence),
  };
  if (facts.byApp) await settlePromise(trx, repository.id, promiseOf(marker), "seen on the issue");
  if (marker.verb !== "claim" || !markerCounts(facts)) return;
  await countMarker(trx, {
    repositoryId: repository.id,
    number: marker.number,
    fence: marker.fence,
    commentId: comment.id,
    owner: marker.owner,
    byApp: facts.byApp,
  });
}

const promiseOf = (marker: Marker): string =>
  marker.verb === "claim"
    ? claimPromise(marker.fence)
    : outcomePromise(marker.number, marker.fence, marker.result);
