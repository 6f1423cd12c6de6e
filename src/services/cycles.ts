/**
 * Keeps the list of cycles as edges come and go (protocol 5). Ours are refused before they close; GitHub knows no
 * cycles of "blocked by", so those that it brings are kept, and each member reports them. Callers hold `lockEdges`.
 */

import { cyclesThrough } from "../domain/cycles.ts";
import type { LinkTarget } from "../domain/record-key.ts";
import type { Trx } from "../store/database.ts";
import {
  dropCyclesOf,
  dropCyclesThrough,
  type Edge,
  edgePath,
  edgesFrom,
  type GraphRelation,
  GraphTooLarge,
  nameOf,
  onCycles,
  saveCycle,
} from "../store/edges.ts";

/**
 * An edge was added: a way back from its end makes a circle. The edge may close several; the shortest is kept, and
 * for each item that is only on longer ones, one of those.
 */
export async function noteEdgeAdded(trx: Trx, relation: GraphRelation, { from, to }: Edge): Promise<void> {
  const back = await withinBounds(edgePath(trx, relation, to, from));
  if (!back) return;
  await saveCycle(trx, relation, [from, ...back.slice(0, -1)]);
  await lookAgain(trx, relation, [from], "beyond");
}

/** An edge was removed: its cycles are gone. Their members may be on others, which were not told of beside them. */
export async function noteEdgeRemoved(trx: Trx, relation: GraphRelation, edge: Edge): Promise<void> {
  await lookAgain(trx, relation, await dropCyclesThrough(trx, relation, edge));
}

/** An issue and its edges have another address: the cycles that it is on are named anew. */
export async function noteMoved(trx: Trx, from: LinkTarget, to: LinkTarget): Promise<void> {
  for (const relation of ["blockedBy", "partOf"] as const) {
    const members = await dropCyclesOf(trx, relation, from);
    const starts = members.map((member) => (nameOf(member) === nameOf(from) ? to : member));
    await lookAgain(trx, relation, starts);
  }
}

/** Keeps a circle for each of the items, and of those `beyond` them too, that is on one and has none. */
async function lookAgain(
  trx: Trx,
  relation: GraphRelation,
  starts: readonly LinkTarget[],
  reach: "these" | "beyond" = "these",
): Promise<void> {
  if (starts.length === 0) return;
  const edges = (await withinBounds(edgesFrom(trx, relation, starts))) ?? [];
  const nodes = new Map<string, LinkTarget>();
  for (const node of [...starts, ...edges.map(({ to }) => to)]) nodes.set(nameOf(node), node);
  const asked = reach === "these" ? starts : [...nodes.values()];
  const told = new Set((await onCycles(trx, relation, asked)).map(nameOf));
  const open = asked.map(nameOf).filter((name) => !told.has(name));
  const pairs = edges.map(({ from, to }) => [nameOf(from), nameOf(to)] as const);
  for (const cycle of cyclesThrough(pairs, open)) {
    await saveCycle(
      trx,
      relation,
      cycle.flatMap((name) => nodes.get(name) ?? []),
    );
  }
}

/** A cycle in a graph that nobody can oversee stays unreported: GitHub's event must not fail for it. */
async function withinBounds<T>(search: Promise<T>): Promise<T | null> {
  try {
    return await search;
  } catch (error) {
    if (error instanceof GraphTooLarge) return null;
    throw error;
  }
}
