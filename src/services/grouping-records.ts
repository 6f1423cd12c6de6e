/** The records of a grouping, written in one transaction once all its issues are open. */

import type { GroupingAnswer } from "../contract/authoring.ts";
import { diagramComment } from "../domain/comments.ts";
import { criticalPath, mermaidDiagram, width } from "../domain/dag.ts";
import type { AskedGrouping, GroupingPlan, PlannedItem } from "../domain/grouping-plan.ts";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";
import { itemRef, itemTarget } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import type { Trx } from "../store/database.ts";
import { integrationItems } from "../store/groupings.ts";
import { promise } from "../store/outbox.ts";
import { addLinks, lockRecord, type RecordLink } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { promiseBlockedBy, promiseSubIssue } from "./native-writes.ts";
import { getItem } from "./read-items.ts";
import { takeUpIssue } from "./take-up-issue.ts";

export interface OpenedGrouping {
  readonly repository: Repository;
  readonly plan: GroupingPlan;
  readonly grouping: AskedGrouping;
  /** The epic under the empty name, and each item under its ref. */
  readonly issues: ReadonlyMap<string, IssueSnapshot>;
  /** The item whose result the grouping is. */
  readonly emittedBy: number | null;
}

/** Answers what the caller is told, but for the branch. */
export async function saveGrouping(
  trx: Trx,
  deps: Deps,
  opened: OpenedGrouping,
  view: View,
): Promise<Pick<GroupingAnswer, "epic" | "items" | "criticalPath" | "width" | "mermaid">> {
  const { repository, plan, grouping, issues, emittedBy } = opened;
  const numberOf = (ref: string): number => {
    const issue = issues.get(ref);
    if (issue === undefined) throw new Error(`the grouping has no issue ${ref}`);
    return issue.number;
  };
  const epic = numberOf("");
  const { parent } = grouping.epic;
  const waitingAbove = parent === null ? [] : await integrationItems(trx, repository.id, parent);
  const numbers = plan.items.map(({ ref }) => numberOf(ref));
  // From the root down, then by number: nobody who holds one of them waits for one before it.
  const below = [...waitingAbove, ...numbers].sort((a, b) => a - b);
  for (const number of [...(parent === null ? [] : [parent]), epic, ...below])
    await lockRecord(trx, itemRef(repository.id, number));

  const linkTo = (relation: string, number: number): RecordLink => ({
    relation,
    repositoryId: repository.id,
    target: itemTarget(number),
  });
  const takeUp = (ref: string, tags: readonly string[], links: readonly RecordLink[]) => {
    const issue = issues.get(ref);
    if (issue === undefined) throw new Error(`the grouping has no issue ${ref}`);
    return takeUpIssue(trx, deps, { repository, number: issue.number }, { issue, tags, links });
  };

  await takeUp(
    "",
    [`phase:${plan.epicPhase}`, `baseBranch:${plan.branch}`],
    parent === null ? [] : [linkTo("partOf", parent)],
  );
  for (const item of plan.items) {
    const isIntegration = item.ref === plan.integration;
    const base = isIntegration ? repository.defaultBranch : plan.branch;
    const blockers = blockersOf(item, numberOf);
    await takeUp(
      item.ref,
      [`phase:${item.phase}`, `baseBranch:${base}`, ...item.resources.map((key) => `resource:${key}`)],
      [
        linkTo("partOf", epic),
        ...(isIntegration ? [linkTo("integrates", epic)] : []),
        ...blockers.map((number) => linkTo("blockedBy", number)),
        ...item.anchoredTo.map((path) => ({
          relation: "anchoredTo",
          repositoryId: repository.id,
          target: `file/${path}`,
        })),
      ],
    );
  }
  for (const waiting of waitingAbove)
    await addLinks(trx, itemRef(repository.id, waiting), [linkTo("blockedBy", epic)]);
  if (emittedBy !== null) await addLinks(trx, itemRef(repository.id, emittedBy), [linkTo("informs", epic)]);

  const nodes = new Map(plan.items.map(({ ref, title }) => [ref, { number: numberOf(ref), title }]));
  const shape = {
    criticalPath: criticalPath(plan.dag),
    width: width(plan.dag),
    mermaid: mermaidDiagram(plan.dag, nodes),
  };
  await promise(trx, {
    repositoryId: repository.id,
    issueNumber: epic,
    promise: `diagram:${epic}`,
    effect: { kind: "comment", body: diagramComment(epic, plan.items.length, shape) },
  });
  if (parent !== null) await promiseSubIssue(trx, { repository, number: parent }, epic);
  for (const number of numbers) await promiseSubIssue(trx, { repository, number: epic }, number);
  for (const item of plan.items)
    await promiseBlockedBy(trx, { repository, number: numberOf(item.ref) }, blockersOf(item, numberOf));
  for (const waiting of waitingAbove) await promiseBlockedBy(trx, { repository, number: waiting }, [epic]);

  return {
    epic: await getItem(deps, repository, epic, view),
    items: Object.fromEntries(plan.items.map(({ ref }) => [ref, numberOf(ref)])),
    ...shape,
  };
}

const blockersOf = ({ blockedBy, waitsFor }: PlannedItem, numberOf: (ref: string) => number): number[] => [
  ...blockedBy.map(numberOf),
  ...waitsFor,
];
