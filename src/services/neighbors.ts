/** What is linked with a record or a file, in both directions, up to three steps away (protocol 2). */

import type { NeighborsAnswer, NeighborsQuery } from "../contract/memory-reading.ts";
import { Problem } from "../contract/problem.ts";
import { itemOfTarget, type LinkTarget, recordOfTarget } from "../domain/record-key.ts";
import { nameOf } from "../store/edges.ts";
import { type GraphLink, linksAround, type PlaceFacts, placeFacts } from "../store/neighbors.ts";
import type { Repository } from "../store/repositories.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { readTarget } from "./record-links.ts";

/** Links of one step that are looked at, each way. A hub has more; then the answer is cut, and says so. */
const MOST_LINKS = 1_000;

/** The nearest first. What the caller may not see is neither shown nor passed through. */
export async function neighbors(
  deps: Deps,
  caller: Caller,
  home: Repository,
  { key, relation, depth, limit }: NeighborsQuery,
): Promise<NeighborsAnswer> {
  const start = await readTarget(deps.db, home, key, "key");
  const sees = { scope: caller.scope, repositories: caller.repositories };
  const nodes = new Map<string, { facts: PlaceFacts; depth: number }>();
  const links = new Map<string, GraphLink>();
  let truncated = false;
  let level: readonly LinkTarget[] = [start];
  for (let step = 0; step <= depth && level.length > 0; step += 1) {
    const facts = new Map((await placeFacts(deps.db, level, sees)).map((place) => [nameOf(place), place]));
    const shown = level.flatMap((place) => facts.get(nameOf(place)) ?? []);
    if (step === 0 && shown.length === 0) throw outOfReach(key);
    // The start counts too.
    const room = limit - nodes.size;
    if (shown.length > room) truncated = true;
    const added = shown.slice(0, room);
    for (const place of added) nodes.set(nameOf(place), { facts: place, depth: step });
    if (step === depth || added.length === 0) break;
    const found = await linksAround(deps.db, added, relation, MOST_LINKS);
    if (found.length >= MOST_LINKS) truncated = true;
    for (const link of found) links.set(`${link.relation} ${nameOf(link.from)} ${nameOf(link.to)}`, link);
    const next = found.flatMap(({ from, to }) => [from, to]).filter((place) => !nodes.has(nameOf(place)));
    level = [...new Map(next.map((place) => [nameOf(place), place])).values()];
  }
  const keyOf = (place: LinkTarget): string | null => {
    const node = nodes.get(nameOf(place));
    return node ? printed(node.facts) : null;
  };
  return {
    key: keyOf(start) ?? key,
    depth,
    nodes: [...nodes.values()].map((node) => nodeBody(node.facts, node.depth)),
    edges: [...links.values()].flatMap(({ relation: name, from, to }) => {
      const [a, b] = [keyOf(from), keyOf(to)];
      return a === null || b === null ? [] : [{ from: a, to: b, relation: name }];
    }),
    truncated,
  };
}

const outOfReach = (key: string): Problem =>
  new Problem("scope_forbidden", `${key} is out of this token's scope; ask about what is within it`);

const printed = ({ fullName, target }: PlaceFacts): string =>
  fullName === null ? target : `repo/${fullName}/${target}`;

function nodeBody(facts: PlaceFacts, depth: number): NeighborsAnswer["nodes"][number] {
  const { exists, kind, title, number, url, state, tags } = facts;
  return {
    key: printed(facts),
    depth,
    type: typeOf(facts),
    exists,
    kind,
    title,
    number,
    url,
    state,
    tags: tags && [...tags],
  };
}

function typeOf({ target }: LinkTarget): "item" | "record" | "file" {
  const inRepository = target.replace(/^repo\/[^/]+\/[^/]+\//, "");
  if (itemOfTarget(inRepository) !== null) return "item";
  return recordOfTarget(inRepository) === null ? "file" : "record";
}
