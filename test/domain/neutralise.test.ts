import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closingReferences } from "../../src/domain/closing-keywords.ts";
import { parseMarker } from "../../src/domain/marker.ts";
import { fitComment, MAX_COMMENT_LENGTH, neutralise } from "../../src/domain/neutralise.ts";

const MARKER =
  "<!-- backlog-worker: claim item=issue-7 owner=worker/7f3a region=local fence=41 at=2026-09-06T00:12:44Z -->";

/** Text made of the pieces that mean something to GitHub, glued together in any way. */
const hostileText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ..."<!->@&#;/7\n \r\0`[]()_*\\x",
        ...[
          "-->",
          "--!>",
          "<!--",
          "@alice",
          "@org/team",
          "#7",
          "GH-7",
          "&#64;",
          "&commat;",
          "&#x40;",
          "fixes ",
        ],
        ...["https://github.com/o/r/issues/7", "o/r#7", "\u200B", "\uD83D", "\uDE0A", "<b>", "</b>", MARKER],
      ),
      fc.string({ unit: "binary", maxLength: 5 }),
    ),
    { maxLength: 30 },
  )
  .map((pieces) => pieces.join(""));

/** What a reader sees: the breaks have no width. */
const seen = (text: string) => text.replaceAll("\u200B", "");

describe("neutralise", () => {
  it.each([
    ["a marker", MARKER],
    ["the end of a comment", "a --> b"],
    ["the other end of a comment", "a --!> b"],
    ["the end of a comment after more hyphens", "a ----> b"],
    ["the beginning of a comment", "a <!-- b"],
    ["a mention", "ask @alice."],
    ["a mention at the start", "@alice"],
    ["a mention behind a backslash", "\\@alice"],
    ["a team", "cc @acme/core-team"],
    ["a mention spelled by number", "ask &#64;alice"],
    ["a mention spelled in hexadecimal", "ask &#X40;alice"],
    ["a mention spelled by name", "ask &commat;alice"],
    ["a closing keyword", "fixes #7"],
    ["a duplicate", "Duplicate of #7"],
    ["a reference to another repository", "closes o/r#7"],
    ["an old reference", "see GH-7, gh-8"],
    ["a reference by URL", "fixes https://github.com/o/r/issues/7#issuecomment-1"],
    ["a pull request by URL", "see https://github.com/o/r/pull/12"],
    ["a commit elsewhere", "o/r@0123456789abcdef0123456789abcdef01234567"],
    ["markup", "<details><summary>more</summary> <img src=x> </details>"],
  ])("changes %s, and nothing that is seen", (_, text) => {
    expect(neutralise(text)).not.toBe(text);
    expect(seen(neutralise(text))).toBe(text);
  });

  it.each([
    ["Done: the parser. Left: the printer, 3 < 4 && 5 > 4, a -> b, a - - > b."],
    ["## Heading\n\n- item\n\n> quote\n\n```ts\nconst a = b ? c : d;\n```\n\n| a | b |\n|---|---|"],
    ["C# and # 7 and #seven"],
    ["https://example.com/a?b=1&c=2#part"],
    ["Grüße, 你好, 😊, \u2028"],
    [""],
  ])("leaves harmless text as it is: %j", (text) => expect(neutralise(text)).toBe(text));

  it("replaces what GitHub and PostgreSQL cannot hold", () => {
    expect(neutralise("a\0b\uD83Dc")).toBe("a\uFFFDb\uFFFDc");
  });

  it("carries no marker, comment, mention, entity or reference, whatever it is given", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const safe = neutralise(text);
        expect(safe.split(/\r?\n/).map(parseMarker).filter(Boolean)).toEqual([]);
        expect(safe).not.toMatch(/<!--|--!?>|<[A-Za-z/!?]/);
        expect(safe).not.toMatch(/@[A-Za-z\d]/);
        expect(safe).not.toMatch(/&#[\dxX]|&[A-Za-z][A-Za-z\d]{0,31};/);
        expect(safe).not.toMatch(/#\d|\bGH-\d|\/(?:issues|pulls?|discussions)\/\d/i);
        expect(closingReferences(safe, { owner: "o", name: "r" })).toEqual({
          closes: [],
          flagged: [],
          reverts: null,
        });
        expect(safe.isWellFormed()).toBe(true);
        expect(safe).not.toContain("\0");
      }),
      { numRuns: 1_000 },
    );
  });

  it("is done after once, and only adds what is not seen", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const safe = neutralise(text);
        expect(neutralise(safe)).toBe(safe);
        expect(seen(safe)).toBe(seen(text.toWellFormed().replaceAll("\0", "\uFFFD")));
      }),
      { numRuns: 1_000 },
    );
  });

  it("stays safe where it is joined by white space", () => {
    fc.assert(
      fc.property(hostileText, hostileText, fc.constantFrom(" ", "\n"), (one, other, space) => {
        const joined = neutralise(one) + space + neutralise(other);
        expect(neutralise(joined)).toBe(joined);
      }),
    );
  });
});

describe("fitComment", () => {
  it("puts the rest below the first line", () => expect(fitComment(MARKER, "text")).toBe(`${MARKER}\ntext`));
  it("adds nothing to a first line alone", () => expect(fitComment(MARKER, "")).toBe(MARKER));

  it("row 48: 70,000 characters are truncated, in words, and the marker is still line 1", () => {
    const body = fitComment(MARKER, "x".repeat(70_000));
    expect(body.length).toBe(MAX_COMMENT_LENGTH);
    expect(parseMarker(body)).not.toBeNull();
    expect(body.split("\n")[0]).toBe(MARKER);
    expect(body.split("\n")[1]).toBe(
      `_Truncated: GitHub takes 65,536 characters in a comment and this one had ${(70_001 + MARKER.length).toLocaleString("en-US")}; its end is missing._`,
    );
  });

  it("row 48: 65,536 characters are whole, one more is not", () => {
    const room = MAX_COMMENT_LENGTH - MARKER.length - 1;
    expect(fitComment(MARKER, "x".repeat(room))).toBe(`${MARKER}\n${"x".repeat(room)}`);
    expect(fitComment(MARKER, "x".repeat(room + 1))).toContain("_Truncated:");
  });

  it.each([0, 1])(
    "row 48: a cut that falls into a surrogate pair keeps neither half (offset %i)",
    (offset) => {
      const body = fitComment(MARKER, `${"x".repeat(offset)}${"😊".repeat(40_000)}`);
      expect(body.isWellFormed()).toBe(true);
      expect(body.endsWith("😊")).toBe(true);
      expect(MAX_COMMENT_LENGTH - body.length).toBeLessThanOrEqual(1);
    },
  );

  it("row 48: never longer than GitHub takes, first line whole, rest from its beginning", () => {
    const longText = fc
      .tuple(fc.string({ unit: "grapheme", minLength: 1 }), fc.integer({ min: 1, max: 70_000 }))
      .map(([unit, times]) => unit.repeat(Math.ceil(times / unit.length)));
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii", maxLength: 400 }), longText, (first, rest) => {
        const body = fitComment(first, rest);
        expect(body.length).toBeLessThanOrEqual(MAX_COMMENT_LENGTH);
        expect(body.startsWith(`${first}\n`)).toBe(true);
        const kept = body.slice(first.length + 1).replace(/^_Truncated: [^\n]*\n\n/, "");
        expect(rest.startsWith(kept)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ["more than one line", "a\nb", "text"],
    ["a CR", "a\rb", "text"],
    ["no room for the notice", "x".repeat(MAX_COMMENT_LENGTH), "text"],
    ["more than a comment", "x".repeat(MAX_COMMENT_LENGTH + 1), ""],
  ])("refuses a first line with %s", (_, first, rest) => {
    expect(() => fitComment(first, rest)).toThrow(RangeError);
  });
});
