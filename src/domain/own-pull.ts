/**
 * Whether an open pull request is the item's own work (protocol 6): a stranger's "closes #7" changes nothing until
 * a human merges it.
 */

import { EPIC_BRANCH_PATTERN, itemOfBranch } from "./branch-names.ts";
import { tagValues } from "./tags.ts";

export interface OpenPull {
  readonly number: number;
  readonly headRef: string | null;
  readonly headRepositoryId: number | null;
  readonly authorAssociation: string | null;
  /** Issues that its text closes by keyword. */
  readonly closes: readonly number[];
}

const MAY_WRITE: readonly string[] = ["OWNER", "MEMBER", "COLLABORATOR"];

/** `recorded`: pull requests that the item's record names. */
export function isOwnPull(
  pull: OpenPull,
  item: {
    repositoryId: number;
    number: number;
    recorded: readonly number[];
    /** Of an integration item: its epic's branch, which it is worked on. */
    epicBranch?: string | null;
  },
): boolean {
  const isFromHere = pull.headRepositoryId === item.repositoryId;
  const isTrusted = pull.authorAssociation !== null && MAY_WRITE.includes(pull.authorAssociation);
  if (!isFromHere && !isTrusted) return false;
  if (item.recorded.includes(pull.number) || pull.closes.includes(item.number)) return true;
  // A fork may name its branches as it likes.
  if (!isFromHere || pull.headRef === null) return false;
  return pull.headRef === item.epicBranch || itemOfBranch(pull.headRef)?.number === item.number;
}

/** What an item's record says of its pull requests: its tags, and where its holder left the work. */
export interface RecordedWork {
  readonly number: number;
  readonly tags: readonly string[];
  readonly location: { readonly pullNumber: number | null; readonly branch: string | null } | null;
}

/**
 * Whether a branch that a resume block names is that item's place of work, so that a pull request from it is the
 * item's. A branch where the work of several comes together is nobody's place, and a working branch is its item's.
 */
export function isPlaceOfWork(
  branch: string,
  { number, tags }: Pick<RecordedWork, "number" | "tags">,
  defaultBranch: string,
): boolean {
  const isShared =
    branch === defaultBranch || EPIC_BRANCH_PATTERN.test(branch) || tags.includes(`baseBranch:${branch}`);
  const named = itemOfBranch(branch);
  return !isShared && (named === null || named.number === number);
}

/** The pull requests that an item's record names: as `pr:<n>`, as its holder's last location, or from the branch of that. */
export function recordedPulls(
  pulls: readonly Pick<OpenPull, "number" | "headRef" | "headRepositoryId">[],
  item: RecordedWork,
  repository: { readonly id: number; readonly defaultBranch: string },
): number[] {
  const { pullNumber = null, branch = null } = item.location ?? {};
  const isPlace = branch !== null && isPlaceOfWork(branch, item, repository.defaultBranch);
  const there = pulls.filter(
    ({ headRef, headRepositoryId }) => isPlace && headRepositoryId === repository.id && headRef === branch,
  );
  return [
    ...tagValues(item.tags, "pr:").map(Number),
    ...(pullNumber === null ? [] : [pullNumber]),
    ...there.map(({ number }) => number),
  ];
}
