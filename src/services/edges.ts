/** The edges of items, as they are authored: what would starve an item or lead round in a circle is refused (protocol 5). */

import { Problem } from "../contract/problem.ts";
import { type EdgeRefusal, judgeEdge, judgePath } from "../domain/blockers.ts";
import {
  itemOfTarget,
  itemTarget,
  type LinkTarget,
  numberOfRef,
  type RecordRef,
} from "../domain/record-key.ts";
import type { Db, Trx } from "../store/database.ts";
import { type Edge, edgePath, type GraphRelation, GraphTooLarge, lockEdges } from "../store/edges.ts";
import { findBlocker } from "../store/item-facts.ts";
import { hasEdge, isGone, nativeEdgesOf, saveNativeEdge } from "../store/native-links.ts";
import { type RecordLink, removeLinks } from "../store/records.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import { noteEdgeRemoved } from "./cycles.ts";
import { printTarget } from "./record-links.ts";

/** A relation that orders items. */
export const isGraphRelation = (relation: string): relation is GraphRelation =>
  relation === "blockedBy" || relation === "partOf";

/** Refuses edges of an item that could never be satisfied, or that would close a circle. */
export async function assertEdges(
  trx: Trx,
  target: ClaimTarget,
  links: readonly RecordLink[],
): Promise<void> {
  const number = numberOfRef(target);
  if (number === null || !links.some(({ relation }) => isGraphRelation(relation))) return;
  await lockEdges(trx);
  const from = { repositoryId: refOf(target).repositoryId, target: itemTarget(number) };
  for (const link of links) {
    const refusal = await judgeLink(trx, from, link, []);
    if (refusal?.code === "edge_refused") throw new Problem("edge_refused", refusal.detail);
    if (refusal) throw new Problem("cycle", await circleText(trx, link.relation, refusal.cycle));
  }
}

/** Why the edge may not be, or null. `more`: edges that are to be thought of as written. */
export async function judgeLink(
  db: Db,
  from: LinkTarget,
  link: RecordLink,
  more: readonly (Edge & { relation: string })[],
): Promise<EdgeRefusal<LinkTarget> | null> {
  const { relation } = link;
  if (!isGraphRelation(relation)) return null;
  const isElsewhere = link.repositoryId === 0;
  if (relation === "blockedBy" && !isElsewhere && itemOfTarget(link.target) === null) {
    return { code: "edge_refused", detail: `an item is blocked by items only; ${link.target} is none` };
  }
  try {
    const beside = more.filter((edge) => edge.relation === relation);
    const path = isElsewhere ? null : await edgePath(db, relation, link, from, beside);
    if (relation === "partOf") return judgePath(from, path);
    return judgeEdge(from, await findBlocker(db, from.repositoryId, link), path);
  } catch (error) {
    if (!(error instanceof GraphTooLarge)) throw error;
    return { code: "edge_refused", detail: `${error.message}: whether this closes a circle cannot be said` };
  }
}

/** A circle in words: `#7 → #3 → #7`. */
export async function circleText(db: Db, relation: string, cycle: readonly LinkTarget[]): Promise<string> {
  const home = cycle[0]?.repositoryId;
  const names: string[] = [];
  for (const step of cycle) {
    const number = itemOfTarget(step.target);
    names.push(step.repositoryId === home && number !== null ? `#${number}` : await printTarget(db, step));
  }
  const what = relation === "partOf" ? "be part of each other" : "wait for each other";
  return `the items would ${what}: ${names.join(" → ")}`;
}

/**
 * Removes our edges of a record. One that GitHub has too stays, unless its other end is gone: nobody can take that
 * away on GitHub any more.
 */
export async function removeEdges(trx: Trx, ref: RecordRef, links: readonly RecordLink[]): Promise<void> {
  if (links.length === 0) return;
  const number = numberOfRef(ref);
  if (number === null || !links.some(({ relation }) => isGraphRelation(relation))) {
    return removeLinks(trx, ref, links);
  }
  await lockEdges(trx);
  const from = { repositoryId: ref.repositoryId, number };
  for (const link of links) {
    const { relation } = link;
    const had = await hasEdge(trx, from, link);
    await removeLinks(trx, ref, [link]);
    if (!had || !isGraphRelation(relation)) continue;
    await dropDead(trx, from, relation, link);
    if (await hasEdge(trx, from, link)) continue;
    const edge = { from: { repositoryId: ref.repositoryId, target: itemTarget(number) }, to: link };
    await noteEdgeRemoved(trx, relation, edge);
  }
}

async function dropDead(
  trx: Trx,
  from: { repositoryId: number; number: number },
  relation: GraphRelation,
  link: LinkTarget,
): Promise<void> {
  const number = itemOfTarget(link.target);
  if (number === null || !(await isGone(trx, { repositoryId: link.repositoryId, number }))) return;
  const known = await nativeEdgesOf(trx, from, relation);
  const dead = known.find(
    (edge) => edge.present && edge.repositoryId === link.repositoryId && edge.target === link.target,
  );
  if (dead) await saveNativeEdge(trx, from, { ...dead, present: false });
}
