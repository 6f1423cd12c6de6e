/** Links as callers write them and as the store keeps them; edges that would starve an item are refused (protocol 5). */

import { Problem } from "../contract/problem.ts";
import { judgeEdge } from "../domain/blockers.ts";
import {
  itemOfTarget,
  itemTarget,
  type LinkTarget,
  numberOfRef,
  parseKey,
  type RepositoryName,
} from "../domain/record-key.ts";
import type { Db, Trx } from "../store/database.ts";
import { findBlocker } from "../store/item-facts.ts";
import { blockingPath, lockEdges, type RecordLink } from "../store/records.ts";
import { findRepositoryById, findRepositoryByName, type Repository } from "../store/repositories.ts";
import { type ClaimTarget, refOf } from "./claim.ts";

/** Reads `{relation: [key]}`. A key that cannot be read is told by its field. */
export async function readLinks(
  db: Db,
  home: Repository,
  links: Record<string, readonly string[]>,
  field: string,
): Promise<RecordLink[]> {
  const read: RecordLink[] = [];
  for (const [relation, keys] of Object.entries(links)) {
    for (const key of keys)
      read.push({ relation, ...(await readTarget(db, home, key, `${field}.${relation}`)) });
  }
  return read;
}

async function readTarget(db: Db, home: Repository, key: string, field: string) {
  const parsed = parseKey(key, home);
  if (parsed.kind === "malformed") {
    const message = `"${key}" is no key; write repo/{owner}/{name}/mem/{topic}/{id}, mem/{topic}/{id} or file/{path}`;
    throw new Problem("validation_failed", `${field}: ${message}`, { errors: [{ field, message }] });
  }
  if (parsed.kind === "local") return { repositoryId: home.id, target: parsed.target };
  const other = await findRepositoryByName(db, parsed.owner, parsed.name);
  return other ? { repositoryId: other.id, target: parsed.target } : { repositoryId: 0, target: key };
}

/** Prints links as `{relation: [key]}`, under the present names of their repositories. */
export async function printLinks(db: Db, home: Repository, links: readonly RecordLink[]) {
  const names = new Map<number, RepositoryName>([[home.id, home]]);
  // A map: a relation may be called `constructor`.
  const printed = new Map<string, string[]>();
  for (const link of links) {
    const known = names.get(link.repositoryId) ?? (await findRepositoryById(db, link.repositoryId));
    if (known) names.set(link.repositoryId, known);
    const key = known ? `repo/${known.owner}/${known.name}/${link.target}` : link.target;
    const keys = printed.get(link.relation);
    if (keys) keys.push(key);
    else printed.set(link.relation, [key]);
  }
  return Object.fromEntries(printed);
}

/** Prints the keys of files. */
export async function printAnchors(
  db: Db,
  home: Repository,
  anchors: readonly LinkTarget[],
): Promise<string[]> {
  const links = anchors.map(({ repositoryId, target }) => ({ relation: "anchoredTo", repositoryId, target }));
  return (await printLinks(db, home, links)).anchoredTo ?? [];
}

/** Refuses `blockedBy` edges of an item that could never be satisfied, or that would close a cycle. */
export async function assertEdges(
  trx: Trx,
  target: ClaimTarget,
  links: readonly RecordLink[],
): Promise<void> {
  const number = numberOfRef(target);
  const edges = links.filter((link) => link.relation === "blockedBy");
  if (number === null || edges.length === 0) return;
  const { repositoryId } = refOf(target);
  await lockEdges(trx);
  const self = { repositoryId, target: itemTarget(number) };
  for (const edge of edges) {
    if (edge.repositoryId !== 0 && itemOfTarget(edge.target) === null) {
      throw new Problem("edge_refused", `an item is blocked by items only; ${edge.target} is none`);
    }
    const blocker = await findBlocker(trx, repositoryId, edge);
    const path = edge.repositoryId === 0 ? null : await blockingPath(trx, edge, self);
    const cycle = path?.flatMap((step) => itemOfTarget(step) ?? []) ?? null;
    const refusal = judgeEdge(number, blocker, cycle);
    if (refusal?.code === "edge_refused") throw new Problem("edge_refused", refusal.detail);
    if (refusal?.code === "cycle") {
      const steps = refusal.cycle.map((step) => `#${step}`).join(" → ");
      throw new Problem("cycle", `the items would wait for each other: ${steps}`);
    }
  }
}
