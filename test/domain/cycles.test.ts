import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalCycle, cyclesThrough } from "../../src/domain/cycles.ts";

type Pair = readonly [string, string];
const edges = (text: string): Pair[] =>
  text.split(" ").flatMap((pair): Pair[] => (pair === "" ? [] : [[pair[0] ?? "", pair[1] ?? ""]]));

describe("cyclesThrough", () => {
  it.each<[string, string, string, string[]]>([
    ["no edges", "", "a", []],
    ["a chain", "ab bc cd", "abcd", []],
    ["two", "ab ba", "ab", ["ab"]],
    ["itself", "aa", "a", ["a"]],
    ["the shorter of two", "ab bc ca ba", "a", ["ab"]],
    ["one that only leads to a cycle is on none", "ab bc cb", "a", []],
    ["two apart", "ab ba cd dc", "abcd", ["ab", "cd"]],
    ["each once, though two members are asked about", "ab bc ca", "cab", ["cab"]],
    ["two that share a member", "ab ba bc cb", "abc", ["ab", "cb"]],
  ])("%s", (_, text, nodes, found) =>
    expect(cyclesThrough(edges(text), [...nodes]).map((cycle) => cycle.join(""))).toEqual(found),
  );

  it("finds cycles that are there, and one for every node that is on one", () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const node = fc.constantFrom(...names);
    fc.assert(
      fc.property(fc.array(fc.tuple(node, node), { maxLength: 12 }), (pairs) => {
        const cycles = cyclesThrough(pairs, names);
        const has = (from: string | undefined, to: string | undefined) =>
          pairs.some(([a, b]) => a === from && b === to);
        for (const cycle of cycles) {
          for (const [index, member] of cycle.entries()) {
            expect(has(member, cycle[(index + 1) % cycle.length])).toBe(true);
          }
        }
        const reach = (start: string): Set<string> => {
          const seen = new Set<string>();
          const queue = pairs.flatMap(([a, b]) => (a === start ? [b] : []));
          for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
            if (seen.has(next)) continue;
            seen.add(next);
            queue.push(...pairs.flatMap(([a, b]) => (a === next ? [b] : [])));
          }
          return seen;
        };
        const onOne = names.filter((name) => reach(name).has(name));
        expect([...new Set(cycles.flat())].sort()).toEqual(onOne);
      }),
    );
  });
});

it("canonicalCycle is the same for every rotation", () => {
  const members = ["10#3", "10#1", "11#2"];
  const rotations = members.map((_, n) => [...members.slice(n), ...members.slice(0, n)]);
  for (const rotation of rotations) expect(canonicalCycle(rotation)).toEqual(["10#1", "11#2", "10#3"]);
});
