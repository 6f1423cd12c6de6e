/** Which items a merged pull request completes (protocol 8). */

import { itemOfBranch } from "./branch-names.ts";
import type { ItemState } from "./item-state.ts";

export interface MergedPull {
  readonly number: number;
  readonly baseRef: string;
  readonly headRef: string;
  /** The head branch lies in this repository: a fork may name its branches as it likes. */
  readonly sameRepository: boolean;
}

/** Items that the pull request is about: named by keyword, recorded as `pr:<n>`, or by its working branch. */
export function itemsOfPull(
  pull: MergedPull,
  closes: readonly number[],
  recorded: readonly number[],
): number[] {
  const branch = pull.sameRepository ? itemOfBranch(pull.headRef) : null;
  return [...new Set([...closes, ...recorded, ...(branch ? [branch.number] : [])])].sort((a, b) => a - b);
}

/** GitHub's clock may differ from ours, and has whole seconds. */
const SLACK_MS = 600_000;

/**
 * Whether what is told of a pull request is the news of its merge: the event itself, or whatever shows it first, for the
 * event may be lost. `known`: how the mirror has the pull request; null: it was never heard of, and a merge from before
 * the repository was is none that counts.
 */
export function isNewsOfMerge(
  told: { readonly action: string | null; readonly mergedAt: Date | null },
  known: { readonly mergedAt: Date | null } | null,
  repositoryKnownSince: Date,
): boolean {
  if (told.mergedAt === null) return false;
  if (told.action === "closed") return true;
  if (known !== null) return known.mergedAt === null;
  return told.mergedAt.getTime() >= repositoryKnownSince.getTime() - SLACK_MS;
}

export type MergeVerdict = "complete" | "wrong_base" | "nothing";

/**
 * A merge completes an item only if it went into the item's base branch. An item whose base is missing or
 * doubled is never guessed: that merge counts as one into the wrong base. No merge says anything of a grouping:
 * it completes with its integration item (protocol 7).
 */
export function judgeMerge(
  pull: Pick<MergedPull, "baseRef">,
  item: { state: ItemState; baseBranch: string | null; isGrouping: boolean },
): MergeVerdict {
  if (item.state === "complete" || item.isGrouping) return "nothing";
  return pull.baseRef === item.baseBranch ? "complete" : "wrong_base";
}
