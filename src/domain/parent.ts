/** Whether something may become part of an item (protocol 7). */

import type { ItemState } from "./item-state.ts";

/** What is known of the item that is to be the parent. */
export interface ParentFacts {
  readonly state: ItemState;
  readonly phase: string | null;
  /** What it is part of itself, at any distance. */
  readonly ancestors: readonly number[];
  /** It is the integration item of an epic. */
  readonly integrates: boolean;
}

/** Why not, for a person; null: it may. `parent` null: there is no such item. */
export function judgeParent(
  number: number,
  parent: ParentFacts | null,
  child: { readonly isResearchGrouping: boolean },
): string | null {
  if (parent === null) return `#${number} is no item here: enrol it first`;
  if (parent.state === "complete" || parent.state === "cancelled")
    return `#${number} is ${parent.state}, and takes no parts any more`;
  if (parent.integrates) return `#${number} is an integration item, and has no parts`;
  if (child.isResearchGrouping) return "research is a leaf: a research grouping is part of no other";
  if (parent.phase === "research" && parent.ancestors.length > 0)
    return `research is a leaf: #${number} is research within a grouping, and has no parts`;
  return null;
}

/** Why a part may not wait for this issue: it waits for its own parts, of which this would be one. Null: it may. */
export function judgeWaitAbove(
  blocker: number,
  number: number,
  parent: Pick<ParentFacts, "ancestors"> | null,
): string | null {
  if (blocker !== number && !parent?.ancestors.includes(blocker)) return null;
  return `#${blocker} is complete only when its parts are, of which this would be one`;
}
