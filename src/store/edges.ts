/** The graph of `blockedBy` and `partOf` edges, over all repositories: searched for cycles, and those kept. */

import { createHash } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import { canonicalCycle, startingAt } from "../domain/cycles.ts";
import { itemOfTarget, itemTarget, type LinkTarget } from "../domain/record-key.ts";
import type { Db, Trx } from "./database.ts";

export type GraphRelation = "blockedBy" | "partOf";

/** An edge that is not written: what would be, or what is asked about. */
export interface Edge {
  readonly from: LinkTarget;
  readonly to: LinkTarget;
}

/** Edges are authored one at a time, so that two halves of a cycle cannot slip in together, of two repositories even. */
export async function lockEdges(trx: Trx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('edges', 7203))`.execute(trx);
}

/** More items above one item than anybody oversees; a search for a cycle ends there. */
const MOST_VISITED = 20_000;

/** The search came to its bound, and found nothing so far. */
export class GraphTooLarge extends Error {
  constructor() {
    super(`more than ${MOST_VISITED} items hang on each other here`);
    this.name = "GraphTooLarge";
  }
}

/** Names a record over all repositories. */
export const nameOf = ({ repositoryId, target }: LinkTarget): string => `${repositoryId}/${target}`;

/**
 * The shortest chain of edges of one relation that leads from one item to another, both ends included, or null.
 * Edges into other repositories are followed too, and so are those of `more`. Searched level by level, so that each
 * item is visited once: a recursive query that carries its path would visit every way through a layered graph.
 */
export async function edgePath(
  db: Db,
  relation: GraphRelation,
  from: LinkTarget,
  to: LinkTarget,
  more: readonly Edge[] = [],
): Promise<LinkTarget[] | null> {
  /** Each node seen, with the one it was reached from. */
  const cameFrom = new Map<string, LinkTarget | null>([[nameOf(from), null]]);
  let level: readonly LinkTarget[] = [from];
  while (level.length > 0 && !cameFrom.has(nameOf(to))) {
    if (cameFrom.size > MOST_VISITED) throw new GraphTooLarge();
    const names = new Set(level.map(nameOf));
    const steps = [
      ...(await edgesOf(db, relation, level)),
      ...more.filter((edge) => names.has(nameOf(edge.from))),
    ];
    const next: LinkTarget[] = [];
    for (const step of steps) {
      if (cameFrom.has(nameOf(step.to))) continue;
      cameFrom.set(nameOf(step.to), step.from);
      next.push(step.to);
    }
    level = next;
  }
  if (!cameFrom.has(nameOf(to))) return null;
  const path: LinkTarget[] = [];
  for (let node: LinkTarget | null = to; node !== null; node = cameFrom.get(nameOf(node)) ?? null) {
    path.unshift(node);
  }
  return path;
}

/** Every edge that can be come to from these records. */
export async function edgesFrom(
  db: Db,
  relation: GraphRelation,
  starts: readonly LinkTarget[],
): Promise<Edge[]> {
  const seen = new Set(starts.map(nameOf));
  const found: Edge[] = [];
  let level = starts;
  while (level.length > 0) {
    if (seen.size > MOST_VISITED) throw new GraphTooLarge();
    const edges = await edgesOf(db, relation, level);
    found.push(...edges);
    const next: LinkTarget[] = [];
    for (const { to } of edges) {
      if (seen.has(nameOf(to))) continue;
      seen.add(nameOf(to));
      next.push(to);
    }
    level = next;
  }
  return found;
}

/** The edges that leave these records. */
async function edgesOf(db: Db, relation: GraphRelation, nodes: readonly LinkTarget[]): Promise<Edge[]> {
  const { rows } = await sql<{ from_id: number; from: string; to_id: number; to: string }>`
    select n.repository_id as from_id, n.target as "from", l.target_repository_id as to_id, l.target as "to"
    from unnest(${nodes.map((node) => node.repositoryId)}::bigint[], ${nodes.map((node) => node.target)}::text[])
      as n (repository_id, target)
    join record_link l on l.repository_id = n.repository_id and l.topic = split_part(n.target, '/', 2)
      and l.id = split_part(n.target, '/', 3) and l.relation = ${relation}
    where n.target like 'mem/%'
    order by l.created_at, l.target`.execute(db);
  return rows.map((row) => ({
    from: { repositoryId: row.from_id, target: row.from },
    to: { repositoryId: row.to_id, target: row.to },
  }));
}

// ------------------------------------------------------------ cycles that are there

/** Keeps a cycle of items, in order. One that is kept already, entered anywhere, keeps its time. */
export async function saveCycle(
  trx: Trx,
  relation: GraphRelation,
  members: readonly LinkTarget[],
): Promise<void> {
  const names = canonicalCycle(members.map(nameOf));
  const cycle = createHash("sha256")
    .update(`${relation} ${names.join(" ")}`)
    .digest("hex")
    .slice(0, 32);
  const first = members.findIndex((member) => nameOf(member) === names[0]);
  const rows = startingAt(members, first).flatMap(({ repositoryId, target }, place) => {
    const number = itemOfTarget(target);
    return number === null ? [] : [{ repository_id: repositoryId, number, relation, cycle, place }];
  });
  await trx
    .insertInto("cycle_member")
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  for (const { repository_id, number } of rows) {
    await sql`select ask_item_check(${repository_id}::bigint, ${number}::int)`.execute(trx);
  }
}

/** Which of these items are on a cycle that is kept. */
export async function onCycles(
  trx: Trx,
  relation: GraphRelation,
  items: readonly LinkTarget[],
): Promise<LinkTarget[]> {
  const { rows } = await sql<LinkTarget>`
    select distinct n.repository_id as "repositoryId", n.target
    from unnest(${items.map((item) => item.repositoryId)}::bigint[], ${items.map((item) => item.target)}::text[])
      as n (repository_id, target)
    join cycle_member m on m.repository_id = n.repository_id and m.number = target_number(n.target)
      and m.relation = ${relation}`.execute(trx);
  return rows;
}

/** Forgets the cycles that an edge was part of. Answers their members, each once. */
export function dropCyclesThrough(
  trx: Trx,
  relation: GraphRelation,
  { from, to }: Edge,
): Promise<LinkTarget[]> {
  return dropCycles(
    trx,
    sql`select f.cycle from cycle_member f join cycle_member t on t.cycle = f.cycle
        and t.repository_id = ${to.repositoryId} and t.number = ${itemOfTarget(to.target)}
        and t.place = (f.place + 1) % (select count(*) from cycle_member m where m.cycle = f.cycle)
      where f.repository_id = ${from.repositoryId} and f.number = ${itemOfTarget(from.target)}
        and f.relation = ${relation}`,
  );
}

/** Forgets the cycles that an item is on. Answers their members, each once. */
export function dropCyclesOf(trx: Trx, relation: GraphRelation, of: LinkTarget): Promise<LinkTarget[]> {
  return dropCycles(
    trx,
    sql`select cycle from cycle_member where repository_id = ${of.repositoryId}
      and number = ${itemOfTarget(of.target)} and relation = ${relation}`,
  );
}

async function dropCycles(trx: Trx, cycles: RawBuilder<unknown>): Promise<LinkTarget[]> {
  const { rows } = await sql<{ repositoryId: number; number: number }>`
    with gone as (
      delete from cycle_member where cycle in (${cycles}) returning repository_id, number)
    select repository_id as "repositoryId", number, ask_item_check(repository_id, number)
    from (select distinct repository_id, number from gone) as members order by 1, 2`.execute(trx);
  return rows.map(({ repositoryId, number }) => ({ repositoryId, target: itemTarget(number) }));
}
