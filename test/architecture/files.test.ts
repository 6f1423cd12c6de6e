/** A file holds one idea, and its name says which (style-anchors, "Files and folders"). */

import { describe, expect, it } from "vitest";
import { withoutComments } from "./imports.ts";
import { filesBelow } from "./source-files.ts";

const MOST_LINES = 300;

const linesOf = (source: string): number => source.replace(/\n$/, "").split("\n").length;

const isUtils = (path: string): boolean => /(?:^|\/)utils?(?:\.[a-z]+|\/)/i.test(path);

/** A file of imports and re-exports and nothing else. */
function isBarrel(source: string): boolean {
  const rest = withoutComments(source)
    .replaceAll(/\b(?:import|export)\b[^"';]*?\bfrom\s*(?:"[^"]*"|'[^']*')\s*(?:;|$)/gm, "")
    .replaceAll(/\bexport\s*\{[^}]*\}\s*(?:;|$)/gm, "");
  return rest.trim() === "" && /\bexport\b/.test(source);
}

const FILES = filesBelow("src");

describe("src", () => {
  it(`has no file of more than ${MOST_LINES} lines`, () => {
    const long = FILES.filter(({ source }) => linesOf(source) > MOST_LINES);
    expect(long.map(({ path, source }) => `${path}: ${linesOf(source)} lines`)).toEqual([]);
  });

  it("has no utils: a helper is named for what it does", () => {
    expect(FILES.map(({ path }) => path).filter(isUtils)).toEqual([]);
  });

  it("has no barrel: things are imported from where they are", () => {
    expect(FILES.filter(({ source }) => isBarrel(source)).map(({ path }) => path)).toEqual([]);
  });
});

describe("the checks", () => {
  it.each([
    ["", 1],
    ["a", 1],
    ["a\n", 1],
    ["a\nb", 2],
    ["a\n\n", 2],
  ])("%j has %d lines", (source, lines) => expect(linesOf(source)).toBe(lines));

  it.each([
    ["src/utils.ts", true],
    ["src/store/util.ts", true],
    ["src/utils/sort.ts", true],
    ["src/store/Utils.mts", true],
    ["src/store/mutils.ts", false],
    ["src/store/utilise.ts", false],
  ])("%s is utils: %s", (path, is) => expect(isUtils(path)).toBe(is));

  it.each([
    ['export * from "./a.ts";', true],
    ['export { a } from "./a.ts";\n\nexport type { B } from "./b.ts";\n', true],
    ['/** All. */\nimport { a } from "./a.ts";\nexport { a };', true],
    ["export {\n  a,\n  b,\n} from './a.ts'", true],
    ['export { a } from "./a.ts";\nexport const b = 1;', false],
    ['import { a } from "./a.ts";\na();', false],
    ['export type A = "from" | "to";', false],
    ["", false],
  ])("%j is a barrel: %s", (source, is) => expect(isBarrel(source)).toBe(is));
});
