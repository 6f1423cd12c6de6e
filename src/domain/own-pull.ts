/**
 * Whether an open pull request is the item's own work (protocol 6): a stranger's "closes #7" changes nothing until
 * a human merges it.
 */

import { itemOfBranch } from "./branch-names.ts";

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
