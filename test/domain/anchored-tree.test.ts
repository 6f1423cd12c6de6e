import { describe, expect, it } from "vitest";
import { AnchoredTree, partsOf, type TreeEntry } from "../../src/domain/anchored-tree.ts";
import { ABSENT } from "../../src/domain/anchors.ts";

const blob = (path: string, sha = `b:${path}`): TreeEntry => ({ path, type: "blob", sha });
const dir = (path: string, sha = `t:${path}`): TreeEntry => ({ path, type: "tree", sha });
const ENTRIES = [
  dir(".github"),
  blob(".github/ci.yml"),
  blob("README.md"),
  dir("app"),
  dir("app/[id]"),
  blob("app/[id]/page.tsx"),
  blob("app/i.tsx"),
  dir("src"),
  blob("src/a.ts"),
  blob("src/b.md"),
  dir("src/deep"),
  blob("src/deep/c.ts"),
  { path: "vendor", type: "commit", sha: "m:vendor" },
];
const idOf = (anchor: string, entries: readonly TreeEntry[] = ENTRIES) => {
  const identity = new AnchoredTree(entries).identityOf(anchor);
  return typeof identity === "string"
    ? identity
    : identity.lines.map((line) => line.split("\0")[0]).join(" ");
};

describe("an anchor stands for", () => {
  it.each([
    ["a file", "src/a.ts", "b:src/a.ts"],
    ["a file, written otherwise", ".//src/./a.ts", "b:src/a.ts"],
    ["a directory", "src/deep", "t:src/deep"],
    ["a directory with a slash", "src/", "t:src"],
    ["a submodule", "vendor", "m:vendor"],
    ["nothing", "src/none.ts", ABSENT],
    ["nothing, in another case", "readme.md", ABSENT],
    ["nothing outside of the repository", "../src/a.ts", ABSENT],
    ["the whole repository", ".", ".github README.md app src vendor"],
    ["all that a glob matches", "src/**/*.ts", "src/a.ts src/deep/c.ts"],
    ["what it matches on one level", "src/*", "src/a.ts src/b.md"],
    ["files whose directory begins with a dot", "**/*.yml", ".github/ci.yml"],
    ["files, and no directories", "sr*", ""],
    ["a file whose name looks like a glob", "app/[id]/page.tsx", "b:app/[id]/page.tsx"],
    ["a directory whose name looks like a glob", "app/[id]", "t:app/[id]"],
    ["what a class of characters matches", "app/[i].tsx", "app/i.tsx"],
    ["alternatives", "src/{a.ts,b.md}", "src/a.ts src/b.md"],
    ["what is called with an exclamation mark, and not all else", "!src/*", ""],
  ])("%s: %s", (_, anchor, wanted) => expect(idOf(anchor)).toBe(wanted));

  it("a set that another order of the tree does not change, and another id in it does", () => {
    const lines = (entries: TreeEntry[]) => new AnchoredTree(entries).identityOf("src/**");
    expect(lines([...ENTRIES].reverse())).toEqual(lines(ENTRIES));
    const changed = ENTRIES.map((entry) => (entry.path === "src/a.ts" ? blob("src/a.ts", "other") : entry));
    expect(lines(changed)).not.toEqual(lines(ENTRIES));
  });
});

describe("partsOf a tree that is too large to list", () => {
  it.each<[string, string[], string[], string[]]>([
    ["a file at the root", ["README.md"], [""], []],
    ["a file", ["src/deep/c.ts"], ["", "src", "src/deep"], []],
    ["a directory is known from the one above", ["src/deep/"], ["", "src"], []],
    ["the root", ["."], [""], []],
    [
      "a glob: all below its directory",
      ["src/deep/**/*.ts"],
      ["", "src", "src/deep", "src/deep/**"],
      ["src/deep"],
    ],
    ["a glob within another's directory", ["src/*.ts", "src/deep/*.ts"], ["", "src", "src/deep"], ["src"]],
    ["a glob over everything", ["**/*.ts", "src/*"], ["", "**", "src"], [""]],
  ])("%s", (_, anchors, levels, whole) => expect(partsOf(anchors)).toEqual({ levels, whole }));
});
