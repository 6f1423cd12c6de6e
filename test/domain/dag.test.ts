import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  criticalPath,
  type Dag,
  findCycle,
  mermaidDiagram,
  mermaidLabel,
  width,
} from "../../src/domain/dag.ts";

/** `a:b,c d:` is a, which waits for b and c, and d, which waits for nothing. */
const dagOf = (text: string): Dag =>
  new Map(
    text
      .split(" ")
      .map((part) => part.split(":"))
      .map(([ref = "", blockers = ""]) => [ref, blockers === "" ? [] : blockers.split(",")]),
  );

describe("criticalPath and width", () => {
  it.each([
    ["one item", "a:", 1, 1],
    ["a chain", "a: b:a c:b", 3, 1],
    ["three side by side", "a: b: c:", 1, 3],
    ["a diamond", "seam: left:seam right:seam end:left,right", 3, 2],
    ["a seam, a fan-out of four, the integration", "s: a:s b:s c:s d:s i:s,a,b,c,d", 3, 4],
    ["two chains of unlike length", "a: b:a c:b x:", 3, 2],
    ["levels of two, two and one, and yet three at once", "a: b: c:a d:a e:b i:c,d,e", 3, 3],
  ])("%s", (_, text, depth, most) => {
    expect([criticalPath(dagOf(text)), width(dagOf(text))]).toEqual([depth, most]);
  });

  it("agree with trying everything", () => {
    const graphs = fc
      .integer({ min: 1, max: 7 })
      .chain((size) =>
        fc
          .array(fc.boolean(), { minLength: 21, maxLength: 21 })
          .map(
            (edges): Dag =>
              new Map(
                Array.from({ length: size }, (_, at) => [
                  `${at}`,
                  Array.from({ length: at }, (_, to) => `${to}`).filter(
                    (_, to) => edges[(at * (at - 1)) / 2 + to],
                  ),
                ]),
              ),
          ),
      );
    fc.assert(
      fc.property(graphs, (dag) => {
        const refs = [...dag.keys()];
        const waits = (a: string, b: string): boolean =>
          (dag.get(a) ?? []).some((blocker) => blocker === b || waits(blocker, b));
        let most = 0;
        let longest = 0;
        for (let pick = 1; pick < 2 ** refs.length; pick++) {
          const chosen = refs.filter((_, bit) => pick & (1 << bit));
          const pairs = chosen.flatMap((a, at) => chosen.slice(at + 1).map((b): [string, string] => [b, a]));
          if (pairs.every(([b, a]) => !waits(b, a))) most = Math.max(most, chosen.length);
          if (pairs.every(([b, a]) => waits(b, a))) longest = Math.max(longest, chosen.length);
        }
        expect([width(dag), criticalPath(dag)]).toEqual([most, longest]);
        expect(findCycle(dag)).toBeNull();
      }),
    );
  });
});

describe("findCycle", () => {
  it.each([
    ["itself", "a:a", ["a", "a"]],
    ["two", "a:b b:a", ["a", "b", "a"]],
    ["three, behind something that waits for them", "x:a a:b b:c c:a", ["a", "b", "c", "a"]],
    ["a diamond is none", "s: l:s r:s e:l,r", null],
  ])("%s", (_, text, cycle) => expect(findCycle(dagOf(text))).toEqual(cycle));
});

describe("the diagram", () => {
  it("leads from each item to those that wait for it, without what a longer way says", () => {
    const nodes = new Map(["s", "a", "i"].map((ref, at) => [ref, { number: 10 + at, title: `Do ${ref}` }]));
    expect(mermaidDiagram(dagOf("s: a:s i:s,a"), nodes).split("\n")).toEqual([
      "flowchart TD",
      '  i10["#35;10 Do s"]',
      '  i11["#35;11 Do a"]',
      '  i12["#35;12 Do i"]',
      "  i10 --> i11",
      "  i11 --> i12",
    ]);
  });

  it.each([
    ["quotes", 'a "quoted" title', "a #34;quoted#34; title"],
    ["a fence", "```\n# boo", "#96;#96;#96; #35; boo"],
    ["HTML", "<img src=x onerror=alert(1)>", "#60;img src=x onerror=alert(1)#62;"],
    ["an entity", "&#34;]", "#38;#35;34#59;#93;"],
    ["a directive", "%%{init: {}}%%", "#37;#37;#123;init: #123;#125;#125;#37;#37;"],
    ["a line break", "one\r\ntwo", "one two"],
    ["letters of any script", "Über 日本 ñ", "Über 日本 ñ"],
    ["a long one", "x".repeat(61), `${"x".repeat(59)}…`],
  ])("%s in a title", (_, title, label) => expect(mermaidLabel(title)).toBe(label));

  it("no title ends its quotes, its line or the code block", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 80 }), (title) => {
        expect(mermaidLabel(title)).not.toMatch(/["`<>&\r\n\u2028\u2029[\]{}|%\\]/);
      }),
    );
  });
});
