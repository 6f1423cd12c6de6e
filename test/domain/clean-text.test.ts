import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleanJson, cleanText } from "../../src/domain/clean-text.ts";

/** Any UTF-16 units, broken pairs and NULs among them. */
const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom("\0", "\uD83D", "\uDE0A", "😊", "\uFFFD"),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
  ),
});

const fits = (text: string) => text.isWellFormed() && !text.includes("\0");

describe("cleanText", () => {
  it.each([
    ["", ""],
    ["plain", "plain"],
    ["a\0b\0", "a\uFFFDb\uFFFD"],
    ["\uD83D", "\uFFFD"],
    ["\uDE0A\uD83D", "\uFFFD\uFFFD"],
    ["😊\u2028\uFEFF", "😊\u2028\uFEFF"],
  ])("turns %j into %j", (text, clean) => expect(cleanText(text)).toBe(clean));

  it("gives what PostgreSQL can hold, of the same length, and once is enough", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const clean = cleanText(text);
        expect(fits(clean)).toBe(true);
        expect(clean.length).toBe(text.length);
        expect(cleanText(clean)).toBe(clean);
      }),
    );
  });
});

describe("cleanJson", () => {
  it("cleans values and keys at any depth, and leaves the original alone", () => {
    const payload = { "a\0": ["b\0", { c: "\uD83D" }], n: 1, yes: true, none: null };
    expect(cleanJson(payload)).toEqual({
      "a\uFFFD": ["b\uFFFD", { c: "\uFFFD" }],
      n: 1,
      yes: true,
      none: null,
    });
    expect(payload["a\0"]).toEqual(["b\0", { c: "\uD83D" }]);
  });

  it.each([
    ["x\0", "x\uFFFD"],
    [7, 7],
    [null, null],
    [[], []],
  ])("takes a bare %j", (value, clean) => expect(cleanJson<unknown>(value)).toEqual(clean));

  it("lets the later of two keys win that become the same, as JSON.parse does", () => {
    expect(cleanJson({ "k\0": 1, "k\uFFFD": 2 })).toEqual({ "k\uFFFD": 2 });
  });

  it("keeps an own key __proto__ a key", () => {
    const clean = cleanJson(JSON.parse('{"__proto__": {"admin": true}}'));
    expect(Object.keys(clean)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(clean)).toBe(Object.prototype);
    expect(clean.admin).toBeUndefined();
  });

  it("keeps what is no JSON as it is", () => {
    const date = new Date(0);
    const bytes = new Uint8Array([1, 2]);
    const clean = cleanJson({ date, bytes, missing: undefined });
    expect(clean.date).toBe(date);
    expect(clean.bytes).toBe(bytes);
    expect("missing" in clean).toBe(true);
  });

  it("goes deeper than the stack", () => {
    let deep: unknown = "bottom\0";
    for (let depth = 0; depth < 100_000; depth++) deep = depth % 2 === 0 ? [deep] : { deep };
    let clean: unknown = cleanJson(deep);
    while (typeof clean === "object" && clean !== null) clean = Object.values(clean)[0];
    expect(clean).toBe("bottom\uFFFD");
  });

  it("keeps what is shared shared, a cycle too", () => {
    const shared = { text: "\0" };
    const cycle: { left: object; right: object; self?: object } = { left: shared, right: shared };
    cycle.self = cycle;
    const clean = cleanJson(cycle);
    expect(clean.left).toBe(clean.right);
    expect(clean.left).toEqual({ text: "\uFFFD" });
    expect(clean.self).toBe(clean);
  });

  it("changes only what has to change", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "grapheme" }), (value) => {
        const text = JSON.stringify(value);
        if (!text.includes("\\u0000")) expect(JSON.stringify(cleanJson(value))).toBe(text);
      }),
    );
  });

  it("leaves no string that PostgreSQL refuses", () => {
    fc.assert(
      fc.property(fc.dictionary(anyText, fc.array(anyText)), (value) => {
        for (const [key, texts] of Object.entries(cleanJson(value))) {
          expect([key, ...texts].every(fits)).toBe(true);
        }
      }),
    );
  });
});
