/** A grouping as it is asked for, checked against all of the protocol's section 7 before GitHub is told anything. */

import { type Blocker, judgeEdge } from "./blockers.ts";
import { BRANCH_TYPE_PATTERN, EPIC_BRANCH_PATTERN } from "./branch-names.ts";
import { type Dag, findCycle } from "./dag.ts";
import { judgeParent, judgeWaitAbove, type ParentFacts } from "./parent.ts";
import type { Phase, Priority } from "./tags.ts";

export interface AskedItem {
  readonly ref: string;
  readonly title: string;
  readonly body: string;
  readonly phase: Phase;
  readonly priority: Priority | null;
  /** Refs of the same request, or `#12`: an issue that is there. */
  readonly blockedBy: readonly string[];
  readonly anchoredTo: readonly string[];
  readonly resources: readonly string[];
}

export interface AskedGrouping {
  readonly epic: {
    readonly title: string;
    readonly body: string;
    /** The first part of the branch's name. */
    readonly type: string;
    readonly slug: string;
    /** The item that the epic is part of. */
    readonly parent: number | null;
  };
  readonly items: readonly AskedItem[];
}

/** What is known of that which the request points at. Null: it was accepted before, and is being finished. */
export interface GroupingFacts {
  readonly blockers: ReadonlyMap<number, Blocker>;
  /** Of `epic.parent`; null: there is no such item. */
  readonly parent: ParentFacts | null;
}

export interface PlannedItem extends AskedItem {
  /** Issues outside the grouping that it waits for. */
  readonly waitsFor: readonly number[];
}

export interface GroupingPlan {
  /** The branch that the epic carries, and that its items go into. */
  readonly branch: string;
  readonly epicPhase: Phase;
  /** The ref of the integration item. */
  readonly integration: string;
  readonly items: readonly PlannedItem[];
  readonly dag: Dag;
}

export interface PlanError {
  readonly code: "validation_failed" | "cycle" | "edge_refused";
  readonly field: string;
  readonly message: string;
}

export type Planned =
  | { readonly ok: true; readonly plan: GroupingPlan }
  | { readonly ok: false; readonly errors: readonly PlanError[] };

const OUTSIDE = /^#([1-9]\d{0,9})$/;

/** The issue outside the grouping that an entry of `blockedBy` names, or null. */
export function outsideNumber(entry: string): number | null {
  const digits = OUTSIDE.exec(entry)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Checks everything, and answers every error there is; the plan has the integration's edges filled in. */
export function planGrouping(asked: AskedGrouping, facts: GroupingFacts | null): Planned {
  const errors: PlanError[] = [];
  const refuse = (code: PlanError["code"], field: string, message: string) =>
    errors.push({ code, field, message });
  const invalid = (field: string, message: string) => refuse("validation_failed", field, message);

  const branch = branchOf(asked, invalid);
  const integration = integrationOf(asked, invalid);
  checkRefs(asked, invalid);
  const epicPhase = phaseOf(asked);
  if (facts !== null) checkOutside(asked, facts, epicPhase, refuse);
  if (errors.length > 0 || integration === null) return { ok: false, errors };

  const fanOut = asked.items.map(({ ref }) => ref).filter((ref) => ref !== integration);
  const items = asked.items.map((item) => plannedItem(item, integration, fanOut));
  const dag: Dag = new Map(items.map(({ ref, blockedBy }) => [ref, blockedBy]));
  const cycle = findCycle(dag);
  if (cycle !== null) {
    const message = `the items would wait for each other: ${cycle.join(" → ")}; the integration item waits for all others`;
    return { ok: false, errors: [{ code: "cycle", field: "items", message }] };
  }
  return { ok: true, plan: { branch, epicPhase, integration, items, dag } };
}

type Invalid = (field: string, message: string) => void;

function branchOf({ epic }: AskedGrouping, invalid: Invalid): string {
  if (!BRANCH_TYPE_PATTERN.test(epic.type))
    invalid("epic.type", "lower-case letters, digits and hyphens, a letter first");
  const branch = `${epic.type}/epic/${epic.slug}`;
  // With a type that is one, so that only the slug is complained about here. Git refuses the endings.
  if (!EPIC_BRANCH_PATTERN.test(`feat/epic/${epic.slug}`) || /\.(?:lock)?$/.test(epic.slug)) {
    invalid(
      "epic.slug",
      "letters, digits and . _ -, a letter or digit first; no .., no end in . or .lock, and none in -issue-<number>, which is an item's branch",
    );
  }
  return branch;
}

function integrationOf({ items }: AskedGrouping, invalid: Invalid): string | null {
  const found = items.filter(({ phase }) => phase === "integration").map(({ ref }) => ref);
  const [first] = found;
  if (first === undefined) {
    invalid("items", "a grouping needs one item with the phase integration, which brings its branch home");
    return null;
  }
  if (found.length > 1)
    invalid("items", `exactly one item has the phase integration; these have: ${found.join(", ")}`);
  if (items.length === found.length)
    invalid("items", "there is nothing to integrate: add the items of the work");
  return first;
}

function checkRefs({ items }: AskedGrouping, invalid: Invalid): void {
  const known = new Set<string>();
  for (const [index, { ref }] of items.entries()) {
    if (known.has(ref)) invalid(`items.${index}.ref`, `${ref} is the ref of another item already`);
    known.add(ref);
  }
  for (const [index, { blockedBy }] of items.entries()) {
    for (const entry of blockedBy) {
      if (known.has(entry) || outsideNumber(entry) !== null) continue;
      invalid(
        `items.${index}.blockedBy`,
        `${entry} is no ref of this request; for an issue that is there write #12`,
      );
    }
  }
}

/** A grouping whose work is research alone is a research grouping. */
function phaseOf({ items }: AskedGrouping): Phase {
  const isResearch = items.every(({ phase }) => phase === "research" || phase === "integration");
  return isResearch ? "research" : "implementation";
}

function checkOutside(
  { epic, items }: AskedGrouping,
  { blockers, parent }: GroupingFacts,
  epicPhase: Phase,
  refuse: (code: PlanError["code"], field: string, message: string) => void,
): void {
  if (epic.parent !== null) {
    const refusal = judgeParent(epic.parent, parent, { isResearchGrouping: epicPhase === "research" });
    if (refusal !== null) refuse("edge_refused", "epic.parent", refusal);
  }
  for (const [index, { blockedBy }] of items.entries()) {
    for (const number of blockedBy.flatMap((entry) => outsideNumber(entry) ?? [])) {
      const field = `items.${index}.blockedBy`;
      const above = epic.parent === null ? null : judgeWaitAbove(number, epic.parent, parent);
      if (above !== null) {
        refuse("cycle", field, above);
        continue;
      }
      const blocker = blockers.get(number) ?? { number, target: `#${number}`, status: "missing" as const };
      const refusal = judgeEdge(0, blocker, null);
      if (refusal?.code === "edge_refused") refuse("edge_refused", field, refusal.detail);
    }
  }
}

/** The integration item waits for the whole fan-out, whatever was written. */
function plannedItem(item: AskedItem, integration: string, fanOut: readonly string[]): PlannedItem {
  const inside = item.blockedBy.filter((entry) => outsideNumber(entry) === null);
  const all = item.ref === integration ? [...inside, ...fanOut] : inside;
  return {
    ...item,
    blockedBy: [...new Set(all)],
    waitsFor: [...new Set(item.blockedBy.flatMap((entry) => outsideNumber(entry) ?? []))],
  };
}
