/** Every row of the list of GitHub's behaviour in docs/github.md is named by a test. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withoutComments } from "./imports.ts";
import { filesBelow, ROOT } from "./source-files.ts";

/** The numbers that stand first in the rows of the table "Cases". */
function rowsOf(page: string): number[] {
  const section = page.split(/^## /m).find((part) => part.startsWith("Cases\n")) ?? "";
  return [...section.matchAll(/^\| (\d+) \|/gm)].map(([, row]) => Number(row));
}

/** In a text between quotes: "row 7", "rows 28, 62", or "[7]" where the text begins. */
const NAMED = /(?:\brows? (\d+(?:(?:, | and )\d+)*)|["'`]((?:\[\d+(?:, \d+)*\] ?)+))/g;
const TEXTS = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;

function rowsNamed(source: string): number[] {
  const texts = withoutComments(source).match(TEXTS) ?? [];
  const lists = texts.flatMap((text) =>
    [...text.matchAll(NAMED)].map(([, rows, tags]) => rows ?? tags ?? ""),
  );
  return lists.flatMap((list) => list.match(/\d+/g) ?? []).map(Number);
}

const ROWS = rowsOf(readFileSync(join(ROOT, "docs/github.md"), "utf8"));
const TESTS = filesBelow("test").filter(
  ({ path }) => path.endsWith(".test.ts") && !path.startsWith("test/architecture/"),
);
const named = new Set(TESTS.flatMap(({ source }) => rowsNamed(source)));

describe("the list of GitHub's behaviour", () => {
  it("has its rows once each", () => {
    expect(ROWS.length).toBeGreaterThan(50);
    expect(ROWS.filter((row, place) => ROWS.indexOf(row) !== place)).toEqual([]);
  });

  it("has a test for every row", () => {
    expect(ROWS.filter((row) => !named.has(row))).toEqual([]);
  });

  it("has every row that a test names", () => {
    const unknown = TESTS.flatMap(({ path, source }) =>
      rowsNamed(source).flatMap((row) => (ROWS.includes(row) ? [] : [`${path}: row ${row}`])),
    );
    expect(unknown).toEqual([]);
  });
});

describe("what a test's name names", () => {
  it.each([
    ['it("row 7: while it hangs", …)', [7]],
    ['it("rows 28, 62: moves", …)', [28, 62]],
    ['describe("a blocker (rows 32 and 63)", …)', [32, 63]],
    ['it("[14] [48] may have no body", …)', [14, 48]],
    ["it(`row 9: of many`, …)", [9]],
    ["// row 7", []],
    ["/** Rows 1 and 2. */", []],
    ['expect(text).toBe("cursor:[1]")', []],
    ["rows[7]", []],
  ])("%s", (source, rows) => expect(rowsNamed(source)).toEqual(rows));
});
