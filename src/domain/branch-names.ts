import { MAX_NUMBER } from "./record-key.ts";

/** The default type of a working branch (protocol, section 7). */
const DEFAULT_TYPE = "feat";

/**
 * The first part of a branch name, as a `type:` tag or the configuration may give it. What begins with `revert-12-` is a
 * branch that GitHub made to take something back, and nobody's work on the item (github-cases 61).
 */
export const BRANCH_TYPE_PATTERN = /^(?!revert-\d)[a-z][a-z0-9-]*$/;

/**
 * An epic's branch, `<type>/epic/<slug>`. A slug that ends in `-issue-<n>` is none, since that branch could not
 * be told from the working branch of an item; neither is one with `..`, which git refuses.
 */
export const EPIC_BRANCH_PATTERN =
  /^(?!revert-\d)[a-z][a-z0-9-]*\/epic\/(?!.*\.\.)(?!.*-issue-\d+$)[A-Za-z0-9][A-Za-z0-9._-]*$/;

const WORKING_BRANCH_PATTERN =
  /^(?!revert-\d)[a-z][a-z0-9-]*\/(?:epic\/(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]*-)?issue-(?<number>[1-9]\d{0,15})$/;

/**
 * The branch an item is worked on (protocol, section 7): `feat/issue-7`, and under an epic whose branch is
 * `feat/epic/slug`, `feat/epic/slug-issue-7`. The hyphen is needed: git cannot hold both `X` and `X/y`.
 *
 * A type or an epic branch that is none says nothing, so the default holds: tags can be written by many hands,
 * and whatever they say the name must be one that git takes and {@link itemOfBranch} reads back.
 *
 * @throws RangeError when the number is not an issue's.
 */
export function workingBranch(item: { number: number; type: string; epicBranch?: string | null }): string {
  if (!Number.isSafeInteger(item.number) || item.number < 1 || item.number > MAX_NUMBER) {
    throw new RangeError(`not the number of an issue: ${item.number}`);
  }
  const { epicBranch } = item;
  if (epicBranch != null && EPIC_BRANCH_PATTERN.test(epicBranch)) {
    return `${epicBranch}-issue-${item.number}`;
  }
  const type = BRANCH_TYPE_PATTERN.test(item.type) ? item.type : DEFAULT_TYPE;
  return `${type}/issue-${item.number}`;
}

/**
 * Which item a branch is the working branch of, by its name alone and whatever its type; null for any other
 * branch, an epic's own among them. Takes a branch name, not a ref (`refs/heads/` stripped).
 */
export function itemOfBranch(branch: string): { number: number } | null {
  const digits = WORKING_BRANCH_PATTERN.exec(branch)?.groups?.number;
  if (digits === undefined) return null;
  const number = Number(digits);
  return number <= MAX_NUMBER ? { number } : null;
}
