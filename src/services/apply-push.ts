/** `push`: a branch has another head. Tags and merge-queue refs are no branches (github-cases 67). */

import type { z } from "zod";
import { CONFIGURATION_PATH } from "../contract/configuration.ts";
import type { PushPayload } from "../contract/github-payloads.ts";
import { judgePush } from "../domain/anchor-push.ts";
import { type PushFacts, touchesFile } from "../domain/configuration-push.ts";
import { findAnchoredPaths, saveAnchorPush } from "../store/anchors.ts";
import { saveBranchHead } from "../store/branches.ts";
import type { Trx } from "../store/database.ts";
import { addChangedPaths } from "../store/handover.ts";
import type { Repository } from "../store/repositories.ts";
import { senderOf } from "./ask-actor.ts";
import { meetBase, noteWork } from "./branch-moved.ts";
import type { Deps } from "./deps.ts";
import { knownRepository } from "./known-repository.ts";
import { type Look, lookAtConfiguration, takeConfiguration } from "./load-configuration.ts";
import { settleDelivery } from "./settle-delivery.ts";

type Payload = z.infer<typeof PushPayload>;

/** Notes the branch's head and its item's sign of life, and takes up a configuration that came with it. */
export async function applyPush(deps: Deps, seq: number, payload: Payload): Promise<void> {
  const repository = await knownRepository(deps, payload);
  const branch = /^refs\/heads\/(?!gh-readonly-queue\/)(.+)$/.exec(payload.ref)?.[1];
  if (!repository || !branch) return settleDelivery(deps, seq, async () => {});
  const look = branch === repository.defaultBranch ? await lookAfterPush(deps, repository, payload) : null;
  let isReadAgain = false;
  let hasDrifted = false;
  await settleDelivery(deps, seq, async (trx) => {
    // It takes items' locks, which come before rows.
    if (!payload.deleted) await meetBase(trx, repository, branch);
    await saveBranchHead(trx, repository.id, {
      name: branch,
      sha: payload.deleted ? null : payload.after,
      pusherId: payload.sender?.id ?? null,
      pusherLogin: payload.sender?.login ?? null,
      pusherType: payload.sender?.type ?? null,
      pushedAt: pushedAt(payload) ?? new Date(0),
    });
    if (look !== null) isReadAgain = await takeConfiguration(trx, repository, look);
    hasDrifted = await tellAnchors(trx, repository.id, branch, payload);
    if (payload.deleted) return;
    for (const number of await noteWork(trx, repository, branch)) {
      // What a rewritten branch still holds of earlier pushes is not known.
      const afresh = payload.created === true || payload.forced === true;
      const paths = [...new Set((payload.commits ?? []).flatMap(pathsOf))];
      await addChangedPaths(trx, repository.id, number, paths, afresh);
    }
  });
  if (isReadAgain) deps.wake.backfill(repository.id);
  deps.wake.pulls();
  if (hasDrifted) deps.wake.anchors();
}

/** Whether what is anchored on the branch is to be read. */
async function tellAnchors(
  trx: Trx,
  repositoryId: number,
  branch: string,
  payload: Payload,
): Promise<boolean> {
  const anchored = await findAnchoredPaths(trx, repositoryId, branch);
  if (anchored === null) return false;
  const push = { ...factsOf(payload), before: payload.before ?? null };
  const { follows, isRead } = judgePush(push, anchored.seen, anchored.paths);
  await saveAnchorPush(trx, repositoryId, branch, { seen: follows ? payload.after : null, isRead });
  return isRead;
}

const factsOf = ({ created, deleted, forced, commits }: Payload): PushFacts => ({
  created: created ?? false,
  deleted: deleted ?? false,
  forced: forced ?? false,
  commits: commits?.map(pathsOf) ?? null,
});

const pathsOf = ({ added, modified, removed }: NonNullable<Payload["commits"]>[number]): string[] => [
  ...(added ?? []),
  ...(modified ?? []),
  ...(removed ?? []),
];

/** GitHub writes the time of a push in seconds, and that of anything else as text. */
function pushedAt({ repository }: Payload): Date | null {
  const at = repository?.pushed_at ?? null;
  if (at === null) return null;
  const time = typeof at === "number" ? new Date(at * 1000) : new Date(at);
  return Number.isNaN(time.getTime()) ? null : time;
}

/** Null: the push leaves the configuration alone. */
async function lookAfterPush(deps: Deps, repository: Repository, payload: Payload): Promise<Look | null> {
  const touched = touchesFile(factsOf(payload), CONFIGURATION_PATH);
  if (touched === "no") return null;
  return lookAtConfiguration(deps, repository, repository.defaultBranch, {
    kind: "push",
    touched,
    before: payload.created ? null : (payload.before ?? null),
    after: payload.after,
    sender: senderOf(payload.sender),
    pusher: payload.pusher?.name ?? null,
    at: pushedAt(payload),
  });
}
