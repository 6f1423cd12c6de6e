/** Which items are containers, whose parts are worked on and not they (protocol 7). */

import { EPIC_BRANCH_PATTERN } from "./branch-names.ts";
import { tagValue } from "./tags.ts";

export interface PartedItem {
  /** How many items are `partOf` this one. */
  readonly parts: number;
  /** How many of them are neither complete nor cancelled. */
  readonly openParts: number;
  /** An item integrates this one. */
  readonly integrated: boolean;
  readonly tags: readonly string[];
}

/**
 * An epic, with a branch or an integration item, is one until it completes with that item. A parent that a person
 * made with sub-issues alone is one while a child is live, and an ordinary item after.
 */
export function isGrouping({ parts, openParts, integrated, tags }: PartedItem): boolean {
  if (parts === 0) return false;
  return integrated || openParts > 0 || EPIC_BRANCH_PATTERN.test(tagValue(tags, "baseBranch:") ?? "");
}
