/**
 * What looks as if a pull request had completed an item and does not count (github-cases 54, 57, 58): flagged on the item,
 * for a person to see.
 */

import type { Doubt, FlaggedReference } from "./closing-keywords.ts";

export interface EndedPull {
  readonly number: number;
  readonly title: string;
  readonly isOpen: boolean;
  readonly mergedAt: Date | null;
  /** Items that it is about, by its text, the record or its branch. */
  readonly items: readonly number[];
  /** What its text names in a way that does not count. */
  readonly flagged: readonly FlaggedReference[];
}

export interface DoubtfulMerge {
  readonly item: number;
  readonly detail: string;
}

/** A bors pushes the work itself, closes the pull request and says so in its title. */
const MERGED_BY = /^\s*\[merged by [^\]\n]{1,60}\]/i;

const SAYS: Readonly<Record<Exclude<Doubt, "reverted">, string>> = {
  negated: "names this issue with a closing keyword and denies it",
  comment_link: "names this issue by a link to a place within its page, which is no closing reference",
  linked_form: "names this issue by a link, of which GitHub closes some and not others",
};

/** The items that a person should look at, each once. An open pull request flags none, and neither does a revert. */
export function doubtfulMerges(pull: EndedPull): DoubtfulMerge[] {
  if (pull.isOpen) return [];
  if (pull.mergedAt === null) {
    if (!MERGED_BY.test(pull.title)) return [];
    const detail =
      `pull request #${pull.number} was closed unmerged, though its title says that a bot merged it; Leasehold does not ` +
      "count that. If it did complete this issue, close the issue as completed; if not, take those words out of the title";
    return pull.items.map((item) => ({ item, detail }));
  }
  const found = new Map<number, string>();
  for (const { number, why, line } of pull.flagged) {
    if (why === "reverted" || pull.items.includes(number) || found.has(number)) continue;
    found.set(
      number,
      `pull request #${pull.number} was merged and ${SAYS[why]} ("${line}"); Leasehold does not count that. If it did ` +
        "complete this issue, close the issue as completed; if not, take the reference out of the pull request's text",
    );
  }
  return [...found].map(([item, detail]) => ({ item, detail }));
}
