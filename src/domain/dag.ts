/** The dependencies within a grouping (protocol 7): their circles, how long and how wide they are, and their diagram. */

/** For each item the items of the grouping that it waits for. Every name in it is one of its keys. */
export type Dag = ReadonlyMap<string, readonly string[]>;

/** Items that wait for each other, each for the next, the first one again at the end; null: there are none. */
export function findCycle(dag: Dag): string[] | null {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (ref: string): string[] | null => {
    const start = path.indexOf(ref);
    if (start >= 0) return [...path.slice(start), ref];
    if (done.has(ref)) return null;
    path.push(ref);
    for (const blocker of dag.get(ref) ?? []) {
      const cycle = visit(blocker);
      if (cycle !== null) return cycle;
    }
    path.pop();
    done.add(ref);
    return null;
  };
  for (const ref of dag.keys()) {
    const cycle = visit(ref);
    if (cycle !== null) return cycle;
  }
  return null;
}

/** How many items the longest chain has: so many must be done one after the other. Of a graph without circles. */
export function criticalPath(dag: Dag): number {
  const depths = new Map<string, number>();
  const depthOf = (ref: string): number => {
    const known = depths.get(ref);
    if (known !== undefined) return known;
    const depth = 1 + Math.max(0, ...(dag.get(ref) ?? []).map(depthOf));
    depths.set(ref, depth);
    return depth;
  };
  return Math.max(0, ...[...dag.keys()].map(depthOf));
}

/**
 * How many items can be worked on at once at most: the most of which none waits for another, even through others. By
 * Dilworth that is how many chains it takes to cover all items, which a matching counts. Of a graph without circles.
 */
export function width(dag: Dag): number {
  const before = ancestry(dag);
  /** Of each item that ends no chain, the next of its chain. */
  const nextOf = new Map<string, string>();
  const take = (ref: string, tried: Set<string>): boolean => {
    for (const blocker of before.get(ref) ?? []) {
      if (tried.has(blocker)) continue;
      tried.add(blocker);
      const rival = nextOf.get(blocker);
      if (rival === undefined || take(rival, tried)) {
        nextOf.set(blocker, ref);
        return true;
      }
    }
    return false;
  };
  const joined = [...dag.keys()].filter((ref) => take(ref, new Set())).length;
  return dag.size - joined;
}

/** Everything that each item waits for, at any distance. */
function ancestry(dag: Dag): ReadonlyMap<string, ReadonlySet<string>> {
  const all = new Map<string, Set<string>>();
  const of = (ref: string): Set<string> => {
    const known = all.get(ref);
    if (known) return known;
    const found = new Set<string>();
    all.set(ref, found);
    for (const blocker of dag.get(ref) ?? []) {
      found.add(blocker);
      for (const far of of(blocker)) found.add(far);
    }
    return found;
  };
  for (const ref of dag.keys()) of(ref);
  return all;
}

/** Long titles make a diagram unreadable. */
const LABEL_LENGTH = 60;

/**
 * A title as the text of a node, in double quotes. Whatever is not a letter, a digit or plain punctuation is written as
 * mermaid's entity: so no title ends the quotes, the line or the code block, or is read as HTML or markdown.
 */
export function mermaidLabel(title: string): string {
  const characters = [...title.replace(/\s+/gu, " ").trim()];
  const shown =
    characters.length > LABEL_LENGTH ? [...characters.slice(0, LABEL_LENGTH - 1), "…"] : characters;
  return shown
    .map((character) =>
      /[\p{L}\p{N}\p{M} .,:!?()/'+=…–-]/u.test(character) ? character : `#${character.codePointAt(0)};`,
    )
    .join("");
}

export interface DiagramNode {
  readonly number: number;
  readonly title: string;
}

/** The diagram: an arrow leads from each item to those that wait for it. What a longer way says already is left out. */
export function mermaidDiagram(dag: Dag, nodes: ReadonlyMap<string, DiagramNode>): string {
  const far = ancestry(dag);
  const lines = ["flowchart TD"];
  const idOf = (ref: string): string => `i${nodes.get(ref)?.number ?? 0}`;
  for (const [ref, { number, title }] of nodes) {
    if (dag.has(ref)) lines.push(`  i${number}["#35;${number} ${mermaidLabel(title)}"]`);
  }
  for (const [ref, blockers] of dag) {
    for (const blocker of new Set(blockers)) {
      const isImplied = blockers.some((other) => other !== blocker && far.get(other)?.has(blocker));
      if (!isImplied) lines.push(`  ${idOf(blocker)} --> ${idOf(ref)}`);
    }
  }
  return lines.join("\n");
}
