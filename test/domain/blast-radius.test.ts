import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blastRadius, RadiusIndex } from "../../src/domain/blast-radius.ts";

const meet = (a: string[], b: string[]): boolean =>
  new RadiusIndex([{ number: 1, radius: a }]).meets({ number: 2, radius: b }).length > 0;

describe("two radii", () => {
  it.each<[string[], string[], boolean]>([
    [[], [], false],
    [["src/a.ts"], [], false],
    [["src/a.ts"], ["src/a.ts"], true],
    [["src/a.ts"], ["src/b.ts"], false],
    [["src/a.ts"], ["src/a.tsx"], false],
    [["src"], ["src/a.ts"], true],
    [["src/"], ["src/a/b/c.ts"], true],
    [["src"], ["srcs/a.ts"], false],
    [["src/a"], ["src"], true],
    [["./src/a.ts"], ["src/a.ts"], true],
    [["src/x.ts", "docs/a.md"], ["test/y.ts", "docs"], true],
    [["src/**/*.ts"], ["src/deep/a.ts"], true],
    [["src/**/*.ts"], ["src/deep/a.md"], false],
    [["src/**/*.ts"], ["src"], true],
    [["src/**/*.ts"], ["src/deep"], true],
    [["src/*.ts"], ["src/deep"], false],
    [["*.md"], ["README.md"], true],
    [["*.md"], ["docs/README.md"], false],
    [["src/{a,b}.ts"], ["src/b.ts"], true],
    [["src/{a,b}.ts"], ["src/c.ts"], false],
    [["."], ["src/a.ts"], true],
    [["./"], ["*.md"], true],
    [["src//a.ts"], ["src/./a.ts"], true],
    [["**/*.yml"], [".github/ci.yml"], true],
    [["app/[id]/page.tsx"], ["app/[id]/page.tsx"], true],
    [["app/[id]/page.tsx"], ["app"], true],
    // Without a list of files nobody knows; they are taken to meet.
    [["src/*.ts"], ["src/a*"], true],
    [["src/*.ts"], ["test/*.ts"], false],
    [["**/*.ts"], ["test/*.md"], true],
  ])("%j and %j: %s", (a, b, wanted) => {
    expect(meet(a, b)).toBe(wanted);
    expect(meet(b, a)).toBe(wanted);
  });

  const segment = fc.constantFrom("a", "b", "ab", "c.ts");
  const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
  const radius = fc.array(path, { maxLength: 4 });

  it("meet when a path of one is a path of the other, or lies below it", () => {
    const within = (a: string, b: string) => a === b || a.startsWith(`${b}/`);
    fc.assert(
      fc.property(radius, radius, (a, b) => {
        expect(meet(a, b)).toBe(a.some((x) => b.some((y) => within(x, y) || within(y, x))));
      }),
      { numRuns: 2000 },
    );
  });

  it("an item never meets itself, and every item that is met is named", () => {
    const index = new RadiusIndex([
      { number: 3, radius: ["src/a.ts"] },
      { number: 1, radius: ["src"] },
      { number: 2, radius: ["docs"] },
    ]);
    expect(index.meets({ number: 3, radius: ["src/a.ts"] })).toEqual([1]);
    expect(index.meets({ number: 9, radius: ["src/a.ts", "docs/x.md"] })).toEqual([1, 2, 3]);
  });
});

describe("blastRadius", () => {
  const research = { isResearch: true };
  const required = { requireAnchors: true };
  const of = (anchors: string[], some: Partial<Parameters<typeof blastRadius>[1]> = {}) =>
    blastRadius(anchors, { isResearch: false, requireAnchors: false, ...some });

  it.each<[string, readonly string[], readonly string[]]>([
    ["anchors", of(["src"]), ["src"]],
    ["anchors that are required", of(["src"], required), ["src"]],
    ["no anchors", of([]), []],
    ["research with anchors", of(["src"], research), []],
    ["research without, where anchors are required", of([], { ...research, ...required }), []],
  ])("%s", (_, radius, wanted) => expect(radius).toEqual(wanted));

  it.each<[string, readonly string[], boolean]>([
    ["a file", ["src/a.ts"], true],
    ["a hidden file", [".github/workflows/ci.yml"], true],
    ["a file without an extension", ["Makefile"], true],
    ["a directory", ["src"], true],
    ["the root", ["."], true],
    ["a glob", ["src/*.ts"], true],
    ["what is not known either", of([], required), true],
    ["research", of([], research), false],
  ])("of what is not known, where anchors are required, meets %s: %s", (_, other, meets) => {
    expect(meet([...of([], required)], [...other])).toBe(meets);
    expect(meet([...other], [...of([], required)])).toBe(meets);
  });
});
