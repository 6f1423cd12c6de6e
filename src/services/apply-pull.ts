/** Pull requests: mirrored, and what they mean for their items; a merge completes those it is about (protocol 8). */

import type { z } from "zod";
import type { PullRequestPayload } from "../contract/github-payloads.ts";
import { isNewsOfMerge, itemsOfPull } from "../domain/completion.ts";
import type { Trx } from "../store/database.ts";
import { integrationItemsAt } from "../store/groupings.ts";
import { markActive } from "../store/items.ts";
import { findPull } from "../store/pulls.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { takePull } from "./item-review.ts";
import { knownRepository } from "./known-repository.ts";
import { itemsMerged, mergeIntoItems, snapshotOfPull } from "./merged-pull.ts";
import { settleDelivery } from "./settle-delivery.ts";
import { clientOf } from "./supervise-requests.ts";

type Payload = z.infer<typeof PullRequestPayload>;

/** Applies one `pull_request` delivery. */
export async function applyPullRequest(deps: Deps, seq: number, payload: Payload): Promise<void> {
  const repository = await knownRepository(deps, payload);
  if (!repository) return settleDelivery(deps, seq, async () => {});
  const raw = payload.pull_request;
  const snapshot = snapshotOfPull(repository, raw);
  const { mergedAt } = snapshot;
  const known = mergedAt === null ? null : await findPull(deps.db, repository.id, raw.number);
  const merged = isNewsOfMerge({ action: payload.action, mergedAt }, known, repository.knownSince);
  const installationId = payload.installation?.id ?? repository.installationId;
  const client = merged && installationId !== null ? await clientOf(deps, installationId) : null;
  const items = merged ? await itemsMerged(deps, client, repository, raw) : [];

  await settleDelivery(deps, seq, async (trx) => {
    await takePull(trx, repository, snapshot);
    if (WORK.has(payload.action)) {
      for (const number of await ownItems(trx, repository, raw, snapshot.closes))
        await markActive(trx, repository.id, number);
    }
    if (merged && mergedAt !== null) await mergeIntoItems(trx, repository, items, raw, mergedAt);
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
