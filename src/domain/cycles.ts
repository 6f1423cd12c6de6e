/** Cycles among edges: what remains of them when one edge is gone, and how people are told of them. */

/** The members in their order, beginning with the smallest, so that a cycle is the same wherever it is entered. */
export function canonicalCycle(members: readonly string[]): string[] {
  const first = members.reduce((best, member, index) => (member < (members[best] ?? "") ? index : best), 0);
  return startingAt(members, first);
}

/** The members in their order, beginning with the one at `index`. */
export const startingAt = <Member>(members: readonly Member[], index: number): Member[] => [
  ...members.slice(index),
  ...members.slice(0, index),
];

/**
 * For each of these nodes a shortest cycle that it is on, each cycle once; a node that is on one found already
 * needs no other. Edges are pairs of names.
 */
export function cyclesThrough(
  edges: readonly (readonly [string, string])[],
  nodes: readonly string[],
): string[][] {
  const next = withoutDeadEnds(edges);
  const covered = new Set<string>();
  const found: string[][] = [];
  for (const node of nodes) {
    if (covered.has(node)) continue;
    const cycle = shortestCycle(next, node);
    if (cycle === null) continue;
    for (const member of cycle) covered.add(member);
    found.push(cycle);
  }
  return found;
}

type Graph = ReadonlyMap<string, readonly string[]>;

/** Only nodes from which one can go on for ever: without cycles nothing is left, however large the graph was. */
function withoutDeadEnds(edges: readonly (readonly [string, string])[]): Graph {
  const next = new Map<string, string[]>();
  const before = new Map<string, string[]>();
  const ways = new Map<string, number>();
  const push = (map: Map<string, string[]>, key: string, value: string) => {
    const list = map.get(key);
    if (list) list.push(value);
    else map.set(key, [value]);
  };
  for (const [from, to] of edges) {
    push(next, from, to);
    push(before, to, from);
    ways.set(from, (ways.get(from) ?? 0) + 1);
    if (!ways.has(to)) ways.set(to, 0);
  }
  const ends = [...ways].flatMap(([node, count]) => (count === 0 ? [node] : []));
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) {
    next.delete(end);
    for (const node of before.get(end) ?? []) {
      const left = (ways.get(node) ?? 0) - 1;
      ways.set(node, left);
      if (left === 0) ends.push(node);
    }
  }
  return next;
}

function shortestCycle(next: Graph, node: string): string[] | null {
  const cameFrom = new Map<string, string>();
  let level = [node];
  while (level.length > 0) {
    const following: string[] = [];
    for (const from of level) {
      for (const to of next.get(from) ?? []) {
        if (to === node) return wayTo(cameFrom, node, from);
        if (cameFrom.has(to)) continue;
        cameFrom.set(to, from);
        following.push(to);
      }
    }
    level = following;
  }
  return null;
}

function wayTo(cameFrom: ReadonlyMap<string, string>, start: string, end: string): string[] {
  const way = [end];
  for (let at = end; at !== start; ) {
    at = cameFrom.get(at) ?? start;
    way.unshift(at);
  }
  return way;
}
