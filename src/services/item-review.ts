/** Keeps what an item's own pull requests mean for it, whatever changed about them (protocol 6). */

import { itemOfBranch } from "../domain/branch-names.ts";
import { roleOf } from "../domain/item-state.ts";
import { isOwnPull, recordedPulls } from "../domain/own-pull.ts";
import { itemRef } from "../domain/record-key.ts";
import { nextReading, type PullFacts, reviewOf } from "../domain/review.ts";
import { databaseNow } from "../store/clock.ts";
import type { Trx } from "../store/database.ts";
import { branchOfIntegrated, integrationItemsAt } from "../store/groupings.ts";
import { findResume, itemsAtBranch } from "../store/handover.ts";
import { lockHead, lockItems, lockPull } from "../store/item-lock.ts";
import { findItem, itemsRecordingPull } from "../store/items.ts";
import {
  countOwnPulls,
  findCandidatePulls,
  issuesOfPull,
  type PullOfItem,
  saveItemReview,
} from "../store/own-pulls.ts";
import { planReading } from "../store/pull-readings.ts";
import { type PullSnapshot, savePull } from "../store/pulls.ts";
import { findRecord } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import { findRoleFacts, recordTransition } from "../store/transitions.ts";
import { itemsInDoubt, keepDoubtfulMerges } from "./doubtful-merges.ts";

/** A busy base must not use up the installation's requests: one read a minute each, or this long times their number. */
const LEAST_SPACING_MS = 60_000;
const SPACING_EACH_MS = 3_000;

/** Stores a pull request as GitHub tells of it, and what that means for the items whose work it was or is. */
export async function takePull(
  trx: Trx,
  repository: Repository,
  pull: PullSnapshot,
  between: () => Promise<void> = async () => {},
): Promise<void> {
  const head = pull.branches?.head ?? "";
  if (head !== "") await lockHead(trx, repository.id, head);
  await lockPull(trx, repository.id, pull.number);
  const before = await issuesOfPull(trx, repository.id, pull.number);
  // Locks come before rows, here as everywhere; what its text and its branch name now is not in the mirror yet.
  const named = itemOfBranch(head);
  const integrating = await integrationItemsAt(trx, repository.id, head);
  const recorded = head === "" ? [] : await itemsAtBranch(trx, repository.id, head);
  const concerned = new Set([
    ...before,
    ...pull.closes,
    ...(named ? [named.number] : []),
    ...integrating,
    ...recorded,
  ]);
  const inDoubt = await itemsInDoubt(trx, repository, pull);
  await lockItems(trx, repository.id, [...concerned, ...inDoubt]);
  await savePull(trx, repository.id, pull);
  await between();
  const about = await issuesOfPull(trx, repository.id, pull.number);
  for (const number of about) concerned.add(number);
  if (!pull.open || inDoubt.length > 0) {
    // Of a fork's the branch says nothing: anybody may name theirs as an item's is named.
    const isFromHere = pull.branches?.headRepositoryId === repository.id;
    const claimed = isFromHere
      ? about
      : [...pull.closes, ...(await itemsRecordingPull(trx, repository.id, pull.number))];
    await keepDoubtfulMerges(trx, repository, pull.number, claimed);
  }
  await reviewItems(trx, repository, [...concerned]);
}

/**
 * Decides anew what the own pull requests of these items mean, and when they are to be read again. Callers wake the
 * readings after the commit.
 */
export async function reviewItems(
  trx: Trx,
  repository: Repository,
  numbers: readonly number[],
): Promise<void> {
  await lockItems(trx, repository.id, numbers);
  for (const number of [...numbers].sort((a, b) => a - b)) await reviewItem(trx, repository, number);
}

async function reviewItem(trx: Trx, repository: Repository, number: number): Promise<void> {
  const item = await findItem(trx, repository.id, number);
  if (!item) return;
  const own = await ownPulls(trx, repository, number);
  const pulls = own.map(pullFacts);
  const now = await databaseNow(trx);
  const review = reviewOf(pulls, now);
  const before = await findRoleFacts(trx, repository.id, number);
  const decided = await saveItemReview(
    trx,
    repository.id,
    number,
    own.map((pull) => pull.number),
    review,
  );
  const after = await findRoleFacts(trx, repository.id, number);
  const [from, to] = [before && roleOf(before), after && roleOf(after)];
  if (from && to && from !== to) {
    const actor = `#${review?.pull ?? decided ?? number}`;
    const change = { trigger: "review", actor, from, to, summary: null, fence: null };
    await recordTransition(trx, repository.id, number, change);
  }
  // What has ended or rests is not resumed, so that nothing about it needs to be asked.
  const isLive = item.state === null && item.enrolled;
  const spacing = Math.max(LEAST_SPACING_MS, SPACING_EACH_MS * (await countOwnPulls(trx, repository.id)));
  for (const pull of pulls) {
    await planReading(trx, repository.id, pull.number, isLive ? nextReading(pull, now, spacing) : null);
  }
}

/** The item's own open pull requests, the one that changed last first. */
async function ownPulls(trx: Trx, repository: Repository, number: number): Promise<PullOfItem[]> {
  const pulls = await findCandidatePulls(trx, repository.id, number);
  if (pulls.length === 0) return [];
  const record = await findRecord(trx, itemRef(repository.id, number));
  const resume = await findResume(trx, repository.id, number);
  const recorded = recordedPulls(pulls, { number, tags: record?.tags ?? [], location: resume }, repository);
  const epicBranch = await branchOfIntegrated(trx, repository.id, number);
  return pulls.filter((pull) =>
    isOwnPull(pull, { repositoryId: repository.id, number, recorded, epicBranch }),
  );
}

const pullFacts = (pull: PullOfItem): PullFacts => ({
  number: pull.number,
  draft: pull.draft,
  headSha: pull.headSha,
  baseRef: pull.base,
  headAt: pull.headAt,
  checks: pull.checks,
  reviews: pull.reviews,
  asked: pull.asked,
  read:
    pull.readAt === null || pull.readHead === null || pull.readBase === null
      ? null
      : {
          at: pull.readAt,
          head: pull.readHead,
          base: pull.readBase,
          mergeable: pull.mergeable,
          state: pull.mergeableState,
          tries: pull.reads,
        },
  movedAt: pull.movedAt,
  claimCheck: pull.checkHead === pull.headSha ? pull.checkConclusion : null,
});
