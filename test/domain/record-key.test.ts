import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  itemId,
  itemOfTarget,
  itemRef,
  itemTarget,
  numberOfItemId,
  numberOfRef,
  type ParsedKey,
  parseKey,
  RECORD_ID_PATTERN,
  recordKey,
  recordOfTarget,
  TOPIC_PATTERN,
} from "../../src/domain/record-key.ts";

const HOME = { owner: "acme", name: "widgets" };
const MALFORMED: ParsedKey = { kind: "malformed" };
const local = (target: string): ParsedKey => ({ kind: "local", target });
const other = (target: string): ParsedKey => ({ kind: "other", owner: "o", name: "r", target });

describe("an item's record id", () => {
  it.each([
    ["issue-1", 1],
    ["issue-7", 7],
    ["issue-2101", 2101],
    ["issue-2147483647", 2_147_483_647],
    ["issue-0", null],
    ["issue-07", null],
    ["issue--7", null],
    ["issue-7.0", null],
    ["issue-1e3", null],
    ["issue-2147483648", null],
    ["issue-99999999999999999999", null],
    ["issue-", null],
    ["issue-7x", null],
    ["issue-7\n", null],
    ["Issue-7", null],
    [" issue-7", null],
    ["x-issue-7", null],
    ["note", null],
  ])("%j is of %j", (id, number) => expect(numberOfItemId(id)).toBe(number));

  it("is printed and read back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_147_483_647 }), (number) => {
        expect(numberOfItemId(itemId(number))).toBe(number);
        expect(numberOfRef(itemRef(10, number))).toBe(number);
        expect(itemOfTarget(itemTarget(number))).toBe(number);
      }),
    );
  });

  it("is an item's only under the topic backlog", () => {
    expect(numberOfRef({ topic: "notes", id: "issue-7" })).toBeNull();
    expect(itemOfTarget("mem/notes/issue-7")).toBeNull();
    expect(itemOfTarget("mem/backlog/note")).toBeNull();
    expect(itemOfTarget("file/mem/backlog/issue-7")).toBeNull();
  });
});

describe("recordKey", () => {
  it("is repo/{owner}/{name}/mem/{topic}/{id}", () => {
    expect(recordKey(HOME, "backlog", "issue-7")).toBe("repo/acme/widgets/mem/backlog/issue-7");
  });
});

describe("parseKey", () => {
  it.each<[string, ParsedKey]>([
    ["repo/acme/widgets/mem/backlog/issue-7", local("mem/backlog/issue-7")],
    ["repo/Acme/WIDGETS/mem/backlog/issue-7", local("mem/backlog/issue-7")],
    ["mem/decisions/x.1", local("mem/decisions/x.1")],
    ["file/src/a.ts", local("file/src/a.ts")],
    ["file/docs/a b (1).md", local("file/docs/a b (1).md")],
    ["repo/acme/widgets/file/src/a.ts", local("file/src/a.ts")],
    ["repo/o/r/mem/decisions/x", other("mem/decisions/x")],
    ["repo/o/r/file/a", other("file/a")],
    ["", MALFORMED],
    ["x", MALFORMED],
    ["mem", MALFORMED],
    ["mem/decisions", MALFORMED],
    ["mem/decisions/", MALFORMED],
    ["mem//x", MALFORMED],
    ["mem/Decisions/x", MALFORMED],
    ["mem/decisions/x y", MALFORMED],
    ["mem/decisions/x/y", MALFORMED],
    ["mem/decisions/.x", MALFORMED],
    [`mem/decisions/${"x".repeat(129)}`, MALFORMED],
    [`mem/${"t".repeat(65)}/x`, MALFORMED],
    ["file/", MALFORMED],
    ["file//etc/passwd", MALFORMED],
    ["file/a\0b", MALFORMED],
    [`file/${"x".repeat(1025)}`, MALFORMED],
    ["repo/acme/widgets", MALFORMED],
    ["repo/acme/widgets/", MALFORMED],
    ["repo/acme/mem/decisions/x", MALFORMED],
    ["repo/a b/widgets/mem/decisions/x", MALFORMED],
    ["repo/acme/widgets/repo/o/r/mem/decisions/x", MALFORMED],
    ["https://github.com/acme/widgets/issues/7", MALFORMED],
  ])("%j", (text, parsed) => expect(parseKey(text, HOME)).toEqual(parsed));

  const aName = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,30}$/);
  const aTopic = fc.stringMatching(TOPIC_PATTERN);
  const anId = fc.stringMatching(RECORD_ID_PATTERN);

  it("reads back every key that is printed", () => {
    fc.assert(
      fc.property(aName, aName, aTopic, anId, (owner, name, topic, id) => {
        const target = `mem/${topic}/${id}`;
        const key = recordKey({ owner, name }, topic, id);
        expect(parseKey(key, { owner, name })).toEqual({ kind: "local", target });
        expect(parseKey(key, { owner: `${owner}x`, name })).toEqual({ kind: "other", owner, name, target });
        expect(parseKey(target, { owner, name })).toEqual({ kind: "local", target });
        expect(recordOfTarget(target)).toEqual({ topic, id });
      }),
    );
  });

  it("answers something for whatever it is given", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const parsed = parseKey(text, HOME);
        if (parsed.kind === "local") expect(text).toBe(parsed.target);
      }),
    );
  });
});
