/** What others say of a pull request: reviews and checks (protocol 6, "Its own pull request"). */

import type { z } from "zod";
import type { CheckSuitePayload, PullRequestReviewPayload } from "../contract/github-payloads.ts";
import { checkSuiteSnapshot, reviewSnapshot } from "../github/snapshots.ts";
import { forgetClaimChecks } from "../store/claim-checks.ts";
import type { Trx } from "../store/database.ts";
import { lockItems } from "../store/item-lock.ts";
import { issuesOfPull, itemsAtHead } from "../store/own-pulls.ts";
import { markMoved } from "../store/pull-readings.ts";
import { noteAnswered, ownPullsAt, saveCheckSuite, saveReview } from "../store/pulls.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { reviewItems } from "./item-review.ts";
import { knownRepository } from "./known-repository.ts";
import { settleDelivery } from "./settle-delivery.ts";

/** Applies one `pull_request_review` delivery. */
export async function applyReview(
  deps: Deps,
  seq: number,
  payload: z.infer<typeof PullRequestReviewPayload>,
): Promise<void> {
  const repository = await knownRepository(deps, payload);
  if (!repository) return settleDelivery(deps, seq, async () => {});
  const { action, review, pull_request } = payload;
  const snapshot = reviewSnapshot(review, pull_request.number);
  await settleDelivery(deps, seq, async (trx) => {
    const items = await issuesOfPull(trx, repository.id, pull_request.number);
    await lockItems(trx, repository.id, items);
    await saveReview(trx, {
      repository_id: repository.id,
      ...snapshot,
      state: action === "dismissed" ? "dismissed" : snapshot.state,
    });
    if (action === "submitted" && snapshot.reviewer_login !== null)
      await noteAnswered(trx, repository.id, pull_request.number, snapshot.reviewer_login);
    // Rules of the base branch may hang on it.
    await markMoved(trx, repository.id, [pull_request.number]);
    await reviewItems(trx, repository, items);
  });
  deps.wake.pulls();
}

/** Applies one `check_suite` delivery: the checks of a commit moved, or somebody asks for ours once more. */
export async function applyCheckSuite(
  deps: Deps,
  seq: number,
  payload: z.infer<typeof CheckSuitePayload>,
): Promise<void> {
  const repository = await knownRepository(deps, payload);
  if (!repository) return settleDelivery(deps, seq, async () => {});
  const { action, check_suite: suite } = payload;
  // What our own check says is decided here; hearing of it would be hearing oneself.
  const isOwn = suite.app?.id != null && suite.app.id === deps.github.app?.appId;
  await settleDelivery(deps, seq, async (trx) => {
    if (!isOwn) return takeSuite(trx, repository, suite);
    if (action === "rerequested") await forgetClaimChecks(trx, repository.id, suite.head_sha);
  });
  deps.wake.pulls();
}

async function takeSuite(
  trx: Trx,
  repository: Repository,
  suite: z.infer<typeof CheckSuitePayload>["check_suite"],
): Promise<void> {
  const items = await itemsAtHead(trx, repository.id, suite.head_sha);
  await lockItems(trx, repository.id, items);
  await saveCheckSuite(trx, { repository_id: repository.id, ...checkSuiteSnapshot(suite) });
  if (items.length === 0) return;
  await markMoved(trx, repository.id, await ownPullsAt(trx, repository.id, suite.head_sha));
  await reviewItems(trx, repository, items);
}
