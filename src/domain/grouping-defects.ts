/** Defects of groupings (protocol 7). A parent that has no epic branch is a person's container, and needs none of it. */

import { EPIC_BRANCH_PATTERN } from "./branch-names.ts";
import type { ItemState } from "./item-state.ts";
import { tagValue } from "./tags.ts";

export type GroupingDefectCode =
  | "integration_missing"
  | "integration_duplicated"
  | "integration_not_blocked_by_fanout"
  | "nested_research"
  | "grouping_without_dag"
  | "epic_targets_main";

/** An item's place in a grouping. */
export interface GroupingShape {
  /** The items that integrate it, but for the cancelled. */
  readonly integratedBy: readonly number[];
  /** It shows a diagram of its parts, or one is about to be posted. */
  readonly hasDiagram: boolean;
  /** The base branches of what it is part of. */
  readonly parentBranches: readonly string[];
  /** It is part of something. */
  readonly isPart: boolean;
  /** It integrates an epic. */
  readonly integrates: boolean;
  /** Parts of the epic that it integrates which are not complete, and for which it does not wait. */
  readonly unawaited: readonly number[];
  readonly defaultBranch: string;
}

export interface GroupedItem {
  readonly state: ItemState;
  readonly tags: readonly string[];
  readonly parts: number;
}

interface Found {
  readonly code: GroupingDefectCode;
  readonly value: string;
  readonly detail: string;
}

const names = (numbers: readonly number[]): string => numbers.map((number) => `#${number}`).join(", ");

/** Of an item that is at its end there are none: nothing about it can still go wrong. */
export function groupingDefects(item: GroupedItem, shape: GroupingShape): Found[] {
  if (item.state === "complete" || item.state === "cancelled") return [];
  return [...epicDefects(item, shape), ...integrationDefects(shape), ...partDefects(item, shape)];
}

function epicDefects(item: GroupedItem, { integratedBy, hasDiagram, isPart }: GroupingShape): Found[] {
  const found: Found[] = [];
  if (item.parts === 0) return found;
  const phase = tagValue(item.tags, "phase:");
  if (phase === "research" && isPart) {
    found.push({
      code: "nested_research",
      value: "phase:research",
      detail: "research is a leaf: a research grouping is part of no other; take it out, or dissolve it",
    });
  }
  const branch = tagValue(item.tags, "baseBranch:");
  if (branch === null || !EPIC_BRANCH_PATTERN.test(branch)) return found;
  if (integratedBy.length === 0) {
    found.push({
      code: "integration_missing",
      value: branch,
      detail: `nothing brings ${branch} home: add an item with the link integrates to this epic`,
    });
  }
  if (integratedBy.length > 1) {
    found.push({
      code: "integration_duplicated",
      value: names(integratedBy),
      detail: `exactly one item integrates an epic: keep the link integrates on one of ${names(integratedBy)}`,
    });
  }
  if (!hasDiagram) {
    found.push({
      code: "grouping_without_dag",
      value: branch,
      detail: "the epic shows no diagram of its items: comment one in a code block of the language mermaid",
    });
  }
  return found;
}

function integrationDefects({ integrates, unawaited }: GroupingShape): Found[] {
  if (!integrates || unawaited.length === 0) return [];
  return [
    {
      code: "integration_not_blocked_by_fanout",
      value: names(unawaited),
      detail: `the integration item waits for all of its epic's parts: add blockedBy to ${names(unawaited)}`,
    },
  ];
}

function partDefects(
  { tags }: GroupedItem,
  { integrates, parentBranches, defaultBranch }: GroupingShape,
): Found[] {
  if (integrates || tagValue(tags, "baseBranch:") !== defaultBranch) return [];
  const epicBranch = parentBranches.find((branch) => EPIC_BRANCH_PATTERN.test(branch));
  if (epicBranch === undefined) return [];
  return [
    {
      code: "epic_targets_main",
      value: defaultBranch,
      detail: `only an epic's integration item targets ${defaultBranch}: set the tag baseBranch:${epicBranch}`,
    },
  ];
}
