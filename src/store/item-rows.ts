/** Puts together, item by item, what was read kind by kind (`item-parts.ts`). */

import { itemOfTarget } from "../domain/record-key.ts";
import type { ItemViewRow, OwnRow } from "./item-columns.ts";
import type { OtherParts, ReasonParts } from "./item-parts.ts";

export interface Page {
  /** ISO 8601. */
  readonly now: string;
  readonly items: readonly OwnRow[];
}

const NO_OTHERS: OtherParts = {
  links: [],
  anchors: [],
  resumes: [],
  heldBelow: [],
  integratedBy: [],
  diagrams: [],
  openParts: [],
};

/** `others` null: nobody asks for more than the reasons, and of the links only the blockers are known. */
export function rowsOf(
  repositoryId: number,
  page: Page & ReasonParts,
  others: OtherParts | null,
): ItemViewRow[] {
  const { links, anchors, resumes, heldBelow, integratedBy, diagrams, openParts } = others ?? NO_OTHERS;
  const claimed = new Map(page.claimedEpics.map(({ item, fence }) => [item, fence]));
  const queued = new Set(page.queuedEpics.map(({ item }) => item));
  const of = {
    parts: byItem(page.parts),
    grants: byItem(page.grants),
    markers: byItem(page.markers),
    unposted: byItem(page.unposted),
    blockers: byItem(page.blockers),
    cycles: byItem(page.cycles),
    incidents: byItem(page.incidents),
    leases: byItem(page.leases),
    integrating: byItem(page.integrating),
    fanOutOpen: byItem(page.fanOutOpen),
    parentBranches: byItem(page.parentBranches),
    links: byItem(links),
    anchors: byItem(anchors),
    resumes: byItem(resumes),
    heldBelow: byItem(heldBelow),
    integratedBy: byItem(integratedBy),
    diagrams: byItem(diagrams),
    openParts: byItem(openParts),
  };
  return page.items.map((own) => {
    const { number, ancestors } = own;
    const [parts] = of.parts(number);
    const blockers = of.blockers(number);
    const here = blockers.filter((blocker) => blocker.repositoryId === repositoryId);
    const awaited = new Set(here.map(({ target }) => itemOfTarget(target)));
    return {
      ...own,
      parts: parts?.parts ?? 0,
      open_parts: parts?.open ?? 0,
      integrated: parts?.integrated ?? false,
      grants: of.grants(number).map(({ fence }) => fence),
      markers: of.markers(number).map(({ fence }) => fence),
      unposted: of.unposted(number).map(({ fence }) => fence),
      links: others === null ? blockers.map(blockedBy) : of.links(number),
      blockers,
      cycles: of.cycles(number),
      anchors: of.anchors(number),
      resume: of.resumes(number)[0] ?? null,
      incidents: of.incidents(number),
      leases: of.leases(number),
      started_above:
        own.started_under !== null && ancestors.some((epic) => claimed.get(epic) === own.started_under),
      grouping: {
        claimedAbove: ancestors.some((epic) => claimed.has(epic)),
        queuedAbove: ancestors.some((epic) => queued.has(epic)),
        integrating: ancestors.some((epic) => of.integrating(epic).some(({ by }) => by !== number)),
        fanOutOpen: of.fanOutOpen(number).length > 0,
        heldBelow: of.heldBelow(number).length > 0,
      },
      shape: {
        defaultBranch: page.defaultBranch,
        isPart: ancestors.length > 0,
        integrates: own.integrates !== null,
        integratedBy: of.integratedBy(number).map(({ by }) => by),
        hasDiagram: of.diagrams(number).length > 0,
        parentBranches: of.parentBranches(number).map(({ branch }) => branch),
        unawaited: of
          .openParts(number)
          .map(({ part }) => part)
          .filter((part) => !awaited.has(part)),
      },
    };
  });
}

const blockedBy = ({ repositoryId, target }: { repositoryId: number; target: string }) => ({
  relation: "blockedBy",
  repositoryId,
  target,
});

const NONE: readonly never[] = [];

/** The rows of an item, in their order. */
function byItem<Row extends { readonly item: number }>(
  rows: readonly Row[],
): (item: number) => readonly Row[] {
  if (rows.length === 0) return () => NONE;
  const groups = Map.groupBy(rows, ({ item }) => item);
  return (item) => groups.get(item) ?? NONE;
}
