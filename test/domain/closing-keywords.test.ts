import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closingReferences } from "../../src/domain/closing-keywords.ts";

const repo = { owner: "o", name: "r" };
const read = (text: string | null) => closingReferences(text, repo);
const closes = (text: string) => read(text).closes;
const flags = (text: string) => read(text).flagged.map(({ number, why }) => `${number} ${why}`);
const NOTHING = { closes: [], flagged: [], reverts: null };

const KEYWORDS = ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];
const REFERENCES = [
  "#7",
  "GH-7",
  "gh-7",
  "o/r#7",
  "O/R#7",
  "https://github.com/o/r/issues/7",
  "https://GitHub.com/O/R/issues/7",
];

describe("row 14: no body", () => {
  it.each([[null], [""], ["\n\r\n"]])("%j refers to nothing", (text) => expect(read(text)).toEqual(NOTHING));
});

describe("row 56: the grammar of keywords", () => {
  it.each([
    ["FIXES: #7", [7]],
    ["closes o/r#7", [7]],
    ["Resolves https://github.com/o/r/issues/7", [7]],
    ["Fixes GH-7", [7]],
    ["Fixes #6, #7", [6]],
    ["Fixes #6 and #7", [6]],
    ["fixes #6, fixes #7", [6, 7]],
    ["fixes #7 and closes #7", [7]],
    ["closes #9, resolves #8", [9, 8]],
    ["Fixes #70", [70]],
    ["fixes  \t #7", [7]],
    ["this (fixes #7).", [7]],
    ["[fixes #7] typo", [7]],
    ["**Fixes #7**", [7]],
    ["_Fixes #7_", [7]],
    ["__Fixes #7__", [7]],
    ["- Fixes #7\n- closes #8", [7, 8]],
    ["1. Fixes #7", [7]],
    ["- [ ] Fixes #7", [7]],
    ["# Fixes #7", [7]],
    ["| a | fixes #7 |", [7]],
    ["fixes #7: the parser", [7]],
    ["fixes #7's cause", [7]],
    ["fixes #7…", [7]],
    ["fixes #7的问题", [7]],
    ["✅Fixes #7", [7]],
    ["—fixes #7", [7]],
    ["Fixes https://github.com/o/r/issues/7.", [7]],
    ["(Fixes https://github.com/o/r/issues/7)", [7]],
    ["Fixes https://github.com/o/r/issues/7/", [7]],
    ["Fixes http://github.com/o/r/issues/7", [7]],
    ["Does it? Fixes https://github.com/o/r/issues/7?", [7]],
    ["text\r\nFixes #7\r\n", [7]],
    ["text that fixes\n#7 at last", [7]],
    ["Fixes #2147483647", [2147483647]],
    // No issue has a number that PostgreSQL cannot hold; it must not jam the delivery.
    ["Fixes #2147483648", []],
    ["Fixes #9007199254740991", []],
  ])("%j closes %j", (text, numbers) => expect(read(text)).toEqual({ ...NOTHING, closes: numbers }));

  it.each([
    "closing #7",
    "close#7",
    "closes:#7",
    "closes : #7",
    "closes - #7",
    "closes issue #7",
    "closes # 7",
    "closes #",
    "closes #0",
    "closes #07",
    "closes #7th",
    "closes #7_a",
    "closes #7.5",
    "closes #9007199254740993",
    "closes #99999999999999999999",
    "closes 7",
    "closes GH7",
    "closes GH-",
    "closet #7",
    "fixe #7",
    "fixings #7",
    "prefixes #7",
    "préfixes #7",
    "hotfix #7",
    "auto-closes #7",
    "my_fixes #7",
    "2fix #7",
    "ﬁxes #7",
    "closeſ #7",
    "fixes other/x#7",
    "fixes o/x#7",
    "fixes x/r#7",
    "fixes xo/r#7",
    "fixes o/r/r#7",
    "fixes o#7",
    "fixes r#7",
    "fixes https://github.com/other/x/issues/7",
    "fixes https://example.com/o/r/issues/7",
    "fixes https://github.com.example.com/o/r/issues/7",
    "fixes https://github.com/o/r/pull/7",
    "fixes https://github.com/o/r/issues/",
    "fixes https://github.com/o/r/issues/7x",
    "fixes github.com/o/r/issues/7",
    "fixes\n\n#7",
    "fixes\n- #7",
    "## What this fixes\n#7 is next",
    "| fixes | #7 |",
    "fixes &#35;7",
    "fixes \\#7",
  ])("%j refers to nothing", (text) => expect(read(text)).toEqual(NOTHING));

  it("every keyword, in any case, with every reference, closes", () => {
    const inAnyCase = (word: string) =>
      fc
        .array(fc.boolean(), { minLength: word.length, maxLength: word.length })
        .map((upper) =>
          [...word].map((letter, index) => (upper[index] ? letter.toUpperCase() : letter)).join(""),
        );
    fc.assert(
      fc.property(
        fc.constantFrom(...KEYWORDS).chain(inAnyCase),
        fc.constantFrom(" ", ": ", "\t", "  ", ":\n", "\n"),
        fc.constantFrom(...REFERENCES),
        fc.constantFrom("", "text\n", "text. ", "* ", "(", "🎉 "),
        fc.constantFrom("", ".", ", and more", ")", "\nmore"),
        (keyword, gap, reference, before, after) => {
          expect(read(before + keyword + gap + reference + after)).toEqual({ ...NOTHING, closes: [7] });
        },
      ),
    );
  });

  it("row 77: full URLs are those of the host that the repository is on", () => {
    const host = "https://ghe.example.com:8443/";
    const text = "fixes https://GHE.example.com:8443/o/r/issues/7, fixes https://github.com/o/r/issues/8";
    expect(closingReferences(text, { ...repo, host }).closes).toEqual([7]);
  });

  it("compares owner and name without regard to case, and takes dots in names literally", () => {
    expect(closingReferences("fixes ACME/My.Repo#7", { owner: "acme", name: "my.repo" }).closes).toEqual([7]);
    expect(closingReferences("fixes acme/myxrepo#7", { owner: "acme", name: "my.repo" }).closes).toEqual([]);
  });
});

describe("row 57: negation and links into the page", () => {
  it.each([
    "does not fix #7",
    "Does NOT close #7",
    "does **not** fix #7",
    "does _not_ fix #7",
    "rather than fixed: #7",
    "instead of: fixes #7",
    "doesn't fix #7",
    "doesn’t fix #7",
    "doesnt fix #7",
    "won't fix #7",
    "can't fix #7",
    "cannot fix #7",
    "ain't fixed: #7",
    "never fixes #7",
    "no longer fixes #7",
    "not yet fixed: #7",
    "neither closes #7",
    "addresses but doesn't necessarily close #7",
    "partially fixes #7",
    "unable to fix #7",
    "this failed to fix #7",
    "merged without fix #7",
    "no fix #7",
    "TODO: fix #7",
    "closes #7? Not yet.",
    "Fixes #7 is what this does not do",
    "## What this does NOT close #7",
    "this is not what\nfixes #7, not",
    "what fixes\n#7 is not known",
    "this does not fix https://github.com/o/r/issues/7",
    "this does not fix [#7](https://github.com/o/r/issues/7)",
  ])("%j is flagged as negated", (text) => expect([closes(text), flags(text)]).toEqual([[], ["7 negated"]]));

  it.each([
    "This does not touch the API.\nFixes #7",
    "Fixes #7\n\nIt does not fix the rest.",
    "Fixes #7: a note is noted, and another, no tests needed",
    "Fixes #7, with nothing left",
    "fixes #7 without changing the API",
    "`not` fixes #7",
    "fixes #7 <!-- not -->",
  ])("%j closes: the line denies nothing", (text) => expect(read(text)).toEqual({ ...NOTHING, closes: [7] }));

  it.each([
    "Fix https://github.com/o/r/issues/7#issuecomment-1",
    "Fix https://github.com/o/r/issues/7/#issuecomment-1",
    "Fix https://github.com/o/r/issues/7?focus=1",
    "Fix https://github.com/o/r/issues/7/events",
    "(Fix https://github.com/o/r/issues/7#issuecomment-1)",
  ])("%j is flagged as a link to a comment", (text) => {
    expect([closes(text), flags(text)]).toEqual([[], ["7 comment_link"]]);
  });

  it("says which line, shortened where it is long", () => {
    expect(read("a\n  - This does not fix #7.\nb").flagged).toEqual([
      { number: 7, why: "negated", line: "- This does not fix #7." },
    ]);
    const [flagged] = read(`${"😊".repeat(500)} does not fix #7 ${"😊".repeat(500)}`).flagged;
    expect(flagged?.line).toContain("does not fix #7");
    expect(flagged?.line.length).toBeLessThanOrEqual(240);
    expect(flagged?.line.isWellFormed()).toBe(true);
  });

  it("one line may close what another denies: both are told, each once", () => {
    expect(read("Fixes #7\n\nThe first attempt did not fix #7.\nIt did not fix #7.")).toEqual({
      closes: [7],
      flagged: [{ number: 7, why: "negated", line: "The first attempt did not fix #7." }],
      reverts: null,
    });
  });
});

describe("row 58: what is no prose, and linked forms", () => {
  it.each([
    ["a code span", "`Fixes #7`"],
    ["a code span with two backticks", "``a ` Fixes #7``"],
    ["a code span over two lines", "`a\nFixes #7`"],
    ["a code span around the reference", "Fixes `#7`"],
    ["a code span between", "Fixes `x` #7"],
    ["a fence", "```\nFixes #7\n```"],
    ["a fence with a language", "text\n```md title\nFixes #7\n```\n"],
    ["a fence of tildes", "~~~\nFixes #7\n~~~"],
    ["a fence within a longer one", "````\n```\nFixes #7\n```\n````"],
    ["a fence of backticks within one of tildes", "~~~\n```\n~~~~ no\nFixes #7\n~~~"],
    ["a fence that nothing closes", "```\n\nFixes #7"],
    ["an indented fence", "  ```\n  Fixes #7\n  ```"],
    ["a fence in a list", "- a\n\n  ```\n  Fixes #7\n  ```"],
    ["a fence begun by a list item", "- ```\n  Fixes #7\n  ```"],
    ["a fence with a blank line", "```\na\n\nFixes #7\n```"],
    ["CRLF fences", "```\r\nFixes #7\r\n```\r\n"],
    ["indented code", "    Fixes #7"],
    ["indented code after text", "text\n\n    a\n\n    Fixes #7"],
    ["code indented by a tab", "text\n\n\tFixes #7"],
    ["code indented by a space and a tab", "text\n\n \tFixes #7"],
    ["indented code in a list", "- a\n\n      Fixes #7"],
    ["indented code begun by a list item", "-     Fixes #7"],
    ["indented code after a heading", "# a\n    Fixes #7"],
    ["indented code after a fence", "```\n```\n    Fixes #7"],
    ["indented code after a thematic break", "a\n\n* * *\n    Fixes #7"],
    ["indented code after an underlined heading", "a\n===\n    Fixes #7"],
    ["indented code after a comment", "<!-- a -->\n    Fixes #7"],
    ["a fence in a list item that begins with two markers", "- 1. ```\n     Fixes #7"],
    ["a quoted line", "> Fixes #7"],
    ["a quoted line, indented", "   > Fixes #7"],
    ["a quoted quote", ">> Fixes #7"],
    ["a quoted line without a space", ">Fixes #7"],
    ["a quote in a list", "- > Fixes #7"],
    ["a quoted fence", "> ```\n> Fixes #7\n> ```"],
    ["a comment", "<!-- Fixes #7 -->"],
    ["a comment in a line", "text <!-- Fixes #7 --> text"],
    ["a comment over lines", "<!--\nFixes #7\n-->"],
    ["a comment over paragraphs", "<!-- a\n\nFixes #7\n\n-->"],
    ["a comment over lines in a paragraph", "text <!-- a\nFixes #7 --> text"],
    ["a second comment on the line", "<!-- a --> <!-- b\n\nFixes #7\n-->"],
    ["a comment that nothing closes", "<!-- a\n\nFixes #7"],
    ["a comment around the reference", "Fixes <!-- #7 -->"],
    ["a comment between", "Fixes <!-- number --> #7"],
    ["a marker", "<!-- backlog-worker: fixes #7 -->"],
    ["HTML code", "<code>Fixes #7</code>"],
    ["HTML preformatted", "<pre>\n\nFixes #7\n</pre>"],
    ["an HTML link", 'Closes <a href="https://github.com/o/r/issues/7">#7</a>'],
    ["struck-out text", "~~Fixes #7~~"],
  ])("%s holds no references", (_, text) => expect(read(text)).toEqual(NOTHING));

  it.each([
    ["after a code span", "`a` Fixes #7"],
    ["beside a code span", "`a`Fixes #7`b`"],
    ["after a backtick that nothing closes", "a ` b\nFixes #7"],
    ["after backticks of another length", "`a `` Fixes #7"],
    ["after an escaped backtick", "\\`Fixes #7 `"],
    ["after a fence", "```\na\n```\nFixes #7"],
    ["after a fence closed by a longer one", "```\na\n`````  \nFixes #7"],
    ["after what only looks like a fence", "``` a ``` b\nFixes #7"],
    ["after a fence that its list item ended", "- ```\n  a\nFixes #7"],
    ["between fences", "```\na\n```\nFixes #7\n```\nb\n```"],
    ["in a paragraph that an indented line carries on", "text\n    Fixes #7"],
    ["indented by three", "   Fixes #7"],
    ["after indented code", "    a\nFixes #7"],
    ["in a list item's second paragraph", "1. a\n\n   Fixes #7"],
    ["in a list item's second paragraph, indented by four", "1. a\n\n    Fixes #7"],
    ["in a nested list item", "- a\n    - Fixes #7"],
    ["in a list item three levels down", "- a\n  - b\n    - c\n\n      Fixes #7"],
    ["after a quote", "> a\n\nFixes #7"],
    ["directly after a quote", "> a\nFixes #7"],
    ["after a comment", "<!-- a -->\nFixes #7"],
    ["after a comment on the same line", "<!-- a --> Fixes #7"],
    ["before a comment", "Fixes #7 <!-- a -->"],
    ["after a comment over lines", "<!--\na\n-->\nFixes #7"],
    ["after a code span that shows a comment", "`<!--` Fixes #7"],
    ["after a fence that shows a comment", "```\n<!--\n```\nFixes #7"],
    ["after `<!--` in a paragraph that ended", "a <!-- b\n\nFixes #7"],
    ["after HTML", "<details>\n<summary>a</summary>\n\nFixes #7\n</details>"],
    ["after struck-out text", "~~a~~ Fixes #7"],
    ["after tildes that nothing closes", "~~ Fixes #7"],
    ["after a thematic break", "* * *\nFixes #7"],
    ["as a heading", "Fixes #7\n---\ntext"],
    ["after a line that begins like a list but is none", "a `b\n10) c`\n    Fixes #7"],
    ["below a list item whose paragraph it carries on", "- a\nb\n\n      c\n\nFixes #7"],
    ["in the list item that a line less indented carried on", "- a\nb\n\n    Fixes #7"],
    ["after an empty list item", "-\n  Fixes #7"],
  ])("a reference %s counts", (_, text) => expect(read(text)).toEqual({ ...NOTHING, closes: [7] }));

  it.each([
    "Closes [#7](https://github.com/o/r/issues/7)",
    "Closes [#7](../issues/7)",
    "Closes: [#7](<https://github.com/o/r/issues/7>)",
    "Closes [o/r#7](https://github.com/o/r/issues/7)",
    "Closes [GH-7][ref]",
    "Closes [#7]",
    "Closes [the crash](https://github.com/o/r/issues/7)",
    "Closes [the crash](https://github.com/o/r/issues/7#issuecomment-1)",
    "Closes [https://github.com/o/r/issues/7](https://github.com/o/r/issues/7)",
    "Closes <https://github.com/o/r/issues/7>",
    "[Closes #7](https://github.com/o/r/issues/7)",
    "[Closes https://github.com/o/r/issues/7][ref]",
    "Closes [#7](https://github.com/o/r/issues/7), [#8](https://github.com/o/r/issues/8)",
  ])("%j is flagged as a linked form", (text) => {
    expect([closes(text), flags(text)]).toEqual([[], ["7 linked_form"]]);
  });

  it.each([
    "Closes [other/x#7](https://github.com/other/x/issues/7)",
    "Closes [the crash](https://github.com/o/r/pull/7)",
    "Closes [it](https://example.com)",
    "Closes []()",
    "Closes <https://example.com>",
  ])("%j is a link to something else", (text) => expect(read(text)).toEqual(NOTHING));

  it("a link later on the line leaves the reference alone", () => {
    expect(closes("Fixes #7 ([why](https://example.com))")).toEqual([7]);
  });

  const aReference = fc
    .tuple(fc.constantFrom(...KEYWORDS), fc.constantFrom(...REFERENCES))
    .map((pair) => pair.join(" "));
  const someLines = fc.array(
    fc.oneof(aReference, fc.string({ unit: fc.constantFrom(..."a `~<!->\t#*1.[](") })),
    {
      maxLength: 8,
    },
  );

  it("quoted, every text refers to nothing", () => {
    fc.assert(
      fc.property(someLines, (lines) => {
        expect(read(lines.map((line) => `> ${line}`).join("\n"))).toEqual(NOTHING);
      }),
    );
  });

  it("fenced by a longer fence, every text refers to nothing", () => {
    fc.assert(
      fc.property(someLines, (lines) => {
        const fence = "`".repeat(12);
        const code = lines.map((line) => line.replace(/`{12,}/g, "")).join("\n");
        expect(read(`${fence}\n${code}\n${fence}`)).toEqual(NOTHING);
      }),
    );
  });

  it("in a comment, every text refers to nothing", () => {
    fc.assert(
      fc.property(someLines, (lines) => {
        expect(read(`<!-- ${lines.join("\n").replaceAll("-->", "")} -->`)).toEqual(NOTHING);
      }),
    );
  });

  it("a paragraph of its own closes, whatever harmless blocks come before it", () => {
    const aBlock = fc.constantFrom(
      "text",
      "> quote",
      "```\ncode\n```",
      "- item\n  - item",
      "<!-- a\n\nb -->",
      "# a",
      "`a`",
      "| a |",
    );
    fc.assert(
      fc.property(fc.array(aBlock), (blocks) => {
        expect(closes([...blocks, "Fixes #7"].join("\n\n"))).toEqual([7]);
      }),
    );
  });
});

describe("row 59: commit messages", () => {
  it.each([
    ["Handle CRLF (fixes #7)", [7]],
    ["Handle CRLF\n\nCloses: #7\nSigned-off-by: A <a@example.com>\n", [7]],
    ["Squash (#12)\n\n* Close #7\n\n* Fixes GH-8\n", [7, 8]],
  ])("%j closes %j", (message, numbers) => expect(read(message)).toEqual({ ...NOTHING, closes: numbers }));

  it("a squash keeps the subject of what it reverted: that is flagged, the rest counts", () => {
    const message = 'Parser (#12)\n\n* Handle CR (fixes #7)\n\n* Revert "Handle LF (fixes #8)"\n';
    expect([closes(message), flags(message)]).toEqual([[7], ["8 reverted"]]);
  });

  it("a reapplied commit counts", () => expect(closes('Reapply "Handle CRLF (fixes #7)"')).toEqual([7]));
});

describe("row 61: reverts", () => {
  it.each([
    "Reverts o/r#12",
    "Reverts O/R#12.",
    "Reverts #12",
    "reverts  https://github.com/o/r/pull/12",
    "It broke the build.\r\n\r\nReverts o/r#12\r\n",
    "Reverts o/r#12 because\nReverts o/r#13",
  ])("%j reverts 12", (text) => expect(read(text)).toEqual({ ...NOTHING, reverts: 12 }));

  it("a revert completes nothing again: what it repeats is flagged", () => {
    expect(read("Reverts o/r#12\n\nThe original said:\n\nFixes #7, fixes #8")).toEqual({
      closes: [],
      flagged: [
        { number: 7, why: "reverted", line: "Fixes #7, fixes #8" },
        { number: 8, why: "reverted", line: "Fixes #7, fixes #8" },
      ],
      reverts: 12,
    });
  });

  it("a revert that quotes is one without references", () => {
    expect(read("Reverts o/r#12\n\n> Fixes #7")).toEqual({ ...NOTHING, reverts: 12 });
  });

  it.each([
    "Reverts other/x#12, fixes #7",
    "> Reverts o/r#12\n\nFixes #7",
    "```\nReverts o/r#12\n```\nFixes #7",
    "It reverts o/r#12\n\nFixes #7",
    "Reverts a change. Fixes #7",
    "Fixes #7\n\nReverts\n\no/r#12",
  ])("%j reverts no pull request of this repository", (text) => {
    expect(read(text)).toEqual({ ...NOTHING, closes: [7] });
  });
});

describe("hostile text of 256 KB", () => {
  const SIZE = 256 * 1024;
  const fill = (piece: string) => piece.repeat(Math.ceil(SIZE / piece.length));

  it.each([
    "fixes ",
    "fixes #7 ",
    "fixes\n",
    "fixes:\n#",
    "not fixes #7 ",
    "don't ",
    "no ",
    "no \t",
    "rather  ",
    "nnnnnnnn",
    "a'",
    "_",
    "_fixes ",
    " ",
    "\t",
    "\n",
    "\r\n",
    "`",
    "` ",
    "`` ` ",
    "`` ``` ```` ",
    "\\`",
    "~~",
    "~~ ",
    "~",
    "```\n",
    "~~~\n````\n",
    "<!--",
    "<!-- ",
    "<!--\n\n",
    "a <!-- ",
    "-->",
    "<!-- --> ",
    "--",
    "<code>",
    "<pre>",
    "<pre></pre>",
    "<a ",
    "<!--<code>`~~",
    "- ",
    "-\n",
    "1. ",
    "  - a\n    - b\n",
    ">",
    "> \n",
    "[",
    "fixes [",
    "fixes [#7](",
    "fixes [a](https://github.com/o/r/issues/",
    "fixes <https://",
    "fixes https://",
    "fixes https://github.com/",
    "fixes a/",
    "fixes #7]",
    "fixes #7 ]",
    "fixes #1111111111111111",
    "fixes GH-",
    "reverts ",
    "Reverts\t\n",
    "#",
    "# ",
    "\uD83D",
    "\0",
  ])(
    "of %j is read to its end",
    (piece) => {
      for (const text of [
        fill(piece),
        `fixes ${fill(piece)}`,
        `${fill(piece)} fixes #7`,
        `- ${fill(piece)}x\n\nfixes #7`,
      ]) {
        const { closes, flagged } = read(text);
        expect(closes.length + flagged.length).toBeLessThan(10);
      }
    },
    60_000,
  );

  it("with thousands of references on one line keeps each line it tells short", () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `not fix #${index + 1}`).join(" ");
    const { flagged } = read(text);
    expect(flagged.length).toBe(20_000);
    expect(Math.max(...flagged.map(({ line }) => line.length))).toBeLessThanOrEqual(240);
  });

  it("of any kind gives positive numbers, each once", () => {
    const anyPiece = fc.constantFrom(
      "fixes ",
      "#7",
      "#8 ",
      "not ",
      "\n",
      "\n\n",
      "`",
      "```\n",
      "<!-- ",
      "-->",
      "> ",
      "- ",
      "    ",
      "[",
      "](x)",
      "Reverts ",
    );
    fc.assert(
      fc.property(fc.array(anyPiece, { maxLength: 60 }), (pieces) => {
        const { closes, flagged, reverts } = read(pieces.join(""));
        expect(new Set(closes).size).toBe(closes.length);
        expect(
          [...closes, ...flagged.map(({ number }) => number)].every((number) => number === 7 || number === 8),
        ).toBe(true);
        if (reverts !== null) expect(closes).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});
