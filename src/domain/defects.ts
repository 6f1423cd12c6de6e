/** Defects: reported with the item and the offending value, never absorbed (protocol 6). */

import { type Anchor, driftText, driftValue } from "./anchors.ts";
import type { AttemptReading } from "./attempts.ts";
import { blockerName, stallText } from "./blockers.ts";
import { type GroupingDefectCode, type GroupingShape, groupingDefects } from "./grouping-defects.ts";
import { isTerminalTag } from "./item-state.ts";
import { ITEM_TAG, isPhase, isPriority, MANDATORY_PREFIXES, tagValues } from "./tags.ts";
import type { ItemFacts } from "./why-not.ts";

export type DefectCode =
  | "missing_tag"
  | "duplicate_tag"
  | "unknown_state"
  | "phase_carries_state"
  | "dangling_blocker"
  | "stalled_blocker"
  | "dependency_cycle"
  | "stale_anchor"
  | "claimed_but_unmarked"
  | "marker_without_grant"
  | "wrong_base"
  | "doubtful_merge"
  | "issue_closed_item_live"
  | "item_complete_issue_open"
  | "complete_with_open_pr"
  | "foreign_pr"
  | "ttl_on_item"
  | "label_removed_by_agent"
  | "unknown_relation"
  | GroupingDefectCode;

export interface Defect {
  readonly code: DefectCode;
  readonly number: number;
  /** What is wrong and what to do about it, for a person. */
  readonly detail: string;
  /** The offending value. */
  readonly value: string;
  readonly since: Date;
}

/** Items whose edges lead round in a circle, the item itself first. */
export interface Cycle {
  readonly relation: "blockedBy" | "partOf";
  /** As people name them: `#3`, or `owner/name#3` in another repository. */
  readonly members: readonly string[];
  readonly since: Date;
}

export interface DefectFacts {
  readonly item: ItemFacts;
  readonly reading: AttemptReading;
  readonly relations: readonly string[];
  readonly cycles: readonly Cycle[];
  /** Its anchors that are another now. */
  readonly drifted: readonly Anchor[];
  /** When its record would expire; null: never, as it must be. */
  readonly expiresAt: Date | null;
  /** Its place in a grouping, as an epic, an integration item or a part. */
  readonly shape: GroupingShape;
  /** When the facts last changed, as far as is known. */
  readonly since: Date;
  /** The oldest time at which a wait for GitHub to catch up is a defect. */
  readonly settledBefore: Date;
  readonly stateAt: Date | null;
}

const RELATIONS: readonly string[] = [
  "blockedBy",
  "partOf",
  "integrates",
  "informs",
  "anchoredTo",
  "related",
  "claims",
];

/** Those of a record's relations that mean nothing here: they are kept, and reported (protocol 2). */
export const unknownRelations = (relations: readonly string[]): string[] =>
  [...new Set(relations)].filter((relation) => !RELATIONS.includes(relation));

/** The defects that follow from an item's facts. */
export function defectsOf(facts: DefectFacts): Defect[] {
  const { item } = facts;
  const found: Defect[] = [];
  const report = (code: DefectCode, value: string, detail: string, since = facts.since) =>
    found.push({ code, number: item.number, value, detail, since });

  tagDefects(item, report);
  for (const { relation, members, since } of facts.cycles) {
    const circle = [...members, ...members.slice(0, 1)].join(" → ");
    const what = relation === "partOf" ? "are part of each other" : "wait for each other";
    report(
      "dependency_cycle",
      circle,
      `${circle} ${what}, and none can go on: remove one of the edges`,
      since,
    );
  }
  for (const blocker of item.blockers) {
    const name = blockerName(blocker);
    if (blocker.status === "missing") {
      report(
        "dangling_blocker",
        name,
        `blocked by ${name}, which does not exist; remove the edge or file it`,
      );
    } else if (blocker.status === "stalled") {
      report("stalled_blocker", name, `blocked by ${name}, which ${stallText(blocker)}`);
    } else if (blocker.status === "invalid") {
      const what = "carries an unknown or doubled state: tag; mend that first";
      report("dangling_blocker", name, `blocked by ${name}, which ${what}`);
    }
  }
  found.push(...staleAnchor(item, facts));
  for (const relation of unknownRelations(facts.relations)) {
    report(
      "unknown_relation",
      relation,
      `the relation ${relation} is not known; it is kept, and means nothing: use ${RELATIONS.join(", ")}, or remove it`,
    );
  }
  for (const { code, value, detail } of groupingDefects(item, facts.shape)) report(code, value, detail);
  if (facts.reading === "claimed_but_unmarked") {
    report(
      "claimed_but_unmarked",
      String(item.attempts),
      "claims were granted whose markers are not on the issue, and count all the same: see why GitHub did not take them " +
        "(the outbox of the installation), or ignore it",
    );
  } else if (facts.reading === "marker_without_grant") {
    report(
      "marker_without_grant",
      String(item.attempts),
      "the issue carries more claim markers than grants were made, and each counts as an attempt: see who wrote them; a " +
        "human's unpark starts the count afresh",
    );
  }
  if (item.state === null && !item.issueOpen) {
    report(
      "issue_closed_item_live",
      "closed",
      "closed by an agent, not completed: reopen it, or close it as a human",
    );
  }
  const settled = facts.stateAt !== null && facts.stateAt < facts.settledBefore;
  if ((item.state === "complete" || item.state === "cancelled") && item.issueOpen && settled) {
    report(
      "item_complete_issue_open",
      "open",
      `${item.state}, but its issue is open: close it, or close and reopen it as a human to bring it back`,
    );
  }
  if (item.state === "complete" && item.review !== null) {
    const pull = `#${item.review.pull}`;
    report(
      "complete_with_open_pr",
      pull,
      `complete, but its pull request ${pull} is still open: merge what is missing elsewhere, or close it`,
    );
  }
  if (facts.expiresAt !== null) {
    const at = facts.expiresAt.toISOString();
    report("ttl_on_item", at, "its record would expire, and starve what waits for it: forget the TTL");
  }
  return found;
}

/** Of what has ended only these matter: the others are about working on it. */
const OF_THE_ENDED: ReadonlySet<string> = new Set(["item_complete_issue_open", "complete_with_open_pr"]);

/** The defects of an item that are worth telling of. */
export const tellingDefects = (item: ItemFacts, defects: readonly Defect[]): Defect[] =>
  item.state === null || item.state === "parked"
    ? [...defects]
    : defects.filter(({ code }) => OF_THE_ENDED.has(code));

/** Of an item that is done nobody asks: its own merge changed what it was anchored to. */
function staleAnchor(item: ItemFacts, { drifted, since }: DefectFacts): Defect[] {
  const isOver = item.state === "complete" || item.state === "cancelled";
  if (drifted.length === 0 || isOver) return [];
  const times = drifted.flatMap(({ driftedAt }) => (driftedAt === null ? [] : [driftedAt.getTime()]));
  return [
    {
      code: "stale_anchor",
      number: item.number,
      value: driftValue(drifted),
      detail: driftText(drifted),
      since: times.length === 0 ? since : new Date(Math.min(...times)),
    },
  ];
}

function tagDefects(
  item: ItemFacts,
  report: (code: DefectCode, value: string, detail: string) => void,
): void {
  if (!item.tags.includes(ITEM_TAG))
    report("missing_tag", ITEM_TAG, `the tag ${ITEM_TAG} is missing: add it`);
  for (const prefix of MANDATORY_PREFIXES) {
    const values = tagValues(item.tags, prefix);
    if (values.length === 0) report("missing_tag", prefix, `a ${prefix} tag is missing; add exactly one`);
    if (values.length > 1) {
      const all = values.map((value) => prefix + value).join(", ");
      const advice =
        prefix === "priority:"
          ? "several priority labels are on the issue; take all but one off"
          : `keep exactly one ${prefix} tag, and remove the others`;
      report("duplicate_tag", all, `${all}: ${advice}`);
    }
  }
  const states = tagValues(item.tags, "state:");
  if (states.length > 1 || states.some((state) => !isTerminalTag(state))) {
    report(
      "unknown_state",
      states.join(", "),
      `${states.map((state) => `state:${state}`).join(", ")}: it is complete or parked, once; remove the others`,
    );
  }
  for (const phase of tagValues(item.tags, "phase:")) {
    if (isPhase(phase)) continue;
    report(
      "phase_carries_state",
      phase,
      `phase:${phase}: it is research, implementation or integration, and never a status: set it to one of those`,
    );
  }
  for (const priority of tagValues(item.tags, "priority:")) {
    if (!isPriority(priority))
      report(
        "missing_tag",
        priority,
        `priority:${priority}: it is P0, P1, P2 or P3: set it by a label on the issue`,
      );
  }
}
