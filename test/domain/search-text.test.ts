/** What is typed into a search, and what comes out of one: anything may be typed, and nothing stored becomes markup. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { highlight, MARKS, searchQuery, searchText } from "../../src/domain/search-text.ts";

describe("what is typed", () => {
  it.each([
    ["fencing token", "fencing token"],
    ["  fencing   token ", "fencing token"],
    ['"fencing token"', '"fencing token"'],
    ['-"fencing token" lease', '-"fencing token" lease'],
    ["-lease", "-lease"],
    ["claim or lease", "claim or lease"],
    ["src/store/records.ts", '"src store records ts"'],
    ["-src/store", '-"src store"'],
    ["take_claim", '"take claim"'],
    ["area:axle", '"area axle"'],
    ["well-known", '"well known"'],
    ['an open "quote', 'an open "quote"'],
    ['a"b c"d', 'a "b c" d'],
    ["<String>", "String"],
    ["- -- ... ///", ""],
    ['"" "  "', ""],
    ["", ""],
  ])("%s → %s", (typed, query) => expect(searchQuery(typed)).toBe(query));
});

describe("a highlight", () => {
  const mark = (text: string) => `${MARKS.start}${text}${MARKS.end}`;

  it("shows the original between marks, with what joins its words", () => {
    const original = "See src/store/records.ts, line 7";
    const marked = `See src store ${mark("records")} ${mark("ts")}, line 7`;
    expect(highlight(original, marked)).toBe("See src/store/<mark>records</mark>.<mark>ts</mark>, line 7");
  });

  it("escapes everything but its own marks", () => {
    const original = `<img src=x onerror="alert('x')"> <mark>axle</mark> & more`;
    const marked = searchText(original).replace("axle", mark("axle"));
    expect(highlight(original, marked)).toBe(
      "&lt;img src=x onerror=&quot;alert(&#39;x&#39;)&quot;&gt; &lt;mark&gt;<mark>axle</mark>&lt;/mark&gt; &amp; more",
    );
  });

  it("joins fragments, in each the original", () => {
    const original = "a-1 axle. Much lies between. b-2 axle";
    const marked = `a 1 ${mark("axle")}${MARKS.cut}b 2 ${mark("axle")}`;
    expect(highlight(original, marked)).toBe("a-1 <mark>axle</mark> … b-2 <mark>axle</mark>");
  });

  it("is none where nothing was found", () => {
    expect(highlight("nothing here", "nothing here")).toBeNull();
    expect(highlight("", "")).toBeNull();
  });

  it("never lets anything out as markup, whatever was stored", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string(), fc.string(), (before, word, after) => {
        const original = `${before}${word}${after}`;
        const marked = searchText(before) + mark(searchText(word)) + searchText(after);
        const html = highlight(original, marked) ?? "";
        expect(html.replaceAll("<mark>", "").replaceAll("</mark>", "")).not.toMatch(/[<>"']/);
        const shown = html
          .replaceAll(/<\/?mark>/g, "")
          .replaceAll("&lt;", "<")
          .replaceAll("&gt;", ">");
        expect(shown.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&")).toBe(
          original,
        );
      }),
    );
  });
});
