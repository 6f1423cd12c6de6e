import { describe, expect, it } from "vitest";
import {
  ABSENT,
  type Anchor,
  afterReading,
  anchoringOf,
  driftText,
  driftValue,
  isDrifted,
  NO_BRANCH,
  staleness,
} from "../../src/domain/anchors.ts";

const anchor = (some: Partial<Anchor> = {}): Anchor => ({
  repositoryId: 10,
  target: "file/src/a.ts",
  branch: "main",
  captured: "a1",
  current: "a1",
  driftedAt: null,
  ...some,
});
const link = (target = "file/src/a.ts", relation = "anchoredTo") => ({ relation, target });
const FRESH = anchor();
const DRIFTED = anchor({ current: "a2" });
const UNREAD = anchor({ captured: null, current: null });
/** Captured on one branch; not looked at on its new one yet. */
const MOVED = anchor({ current: null });

describe("anchoringOf", () => {
  it.each<[string, { relation: string; target: string }[], Anchor[], string, boolean | null]>([
    ["no links", [], [], "none", false],
    ["links of other kinds", [link("file/a", "related"), link("mem/notes/a")], [], "none", false],
    ["as it was", [link()], [FRESH], "fresh", false],
    ["changed", [link()], [DRIFTED], "stale", true],
    ["not read yet", [link()], [UNREAD], "pending", null],
    ["not read yet on another branch", [link()], [MOVED], "pending", null],
    ["one as it was, one not read yet", [link(), link("file/b")], [FRESH, UNREAD], "pending", null],
    ["one changed, one not read yet", [link(), link("file/b")], [DRIFTED, UNREAD], "stale", true],
    ["one changed of two", [link(), link("file/b")], [FRESH, DRIFTED], "stale", true],
    ["a file of a repository that is not known", [link("repo/o/other/file/a")], [], "pending", null],
    ["the same beside one as it was", [link(), link("repo/o/other/file/a")], [FRESH], "pending", null],
  ])("%s: %s", (_, links, anchors, state, stale) => {
    const anchoring = anchoringOf(links, anchors);
    expect(anchoring.state).toBe(state);
    expect(staleness(anchoring)).toBe(stale);
    expect(anchoring.drifted).toEqual(anchors.filter((one) => one === DRIFTED));
  });
});

describe("a reading", () => {
  const at = (atHead: string | null, whenAnchored: string | null = null) => ({ atHead, whenAnchored });

  it.each<[string, string | null, ReturnType<typeof at>, string | null, string | null, boolean]>([
    ["captures what is there", null, at("a1"), "a1", "a1", false],
    ["captures what was there when it was anchored", null, at("a2", "a1"), "a1", "a2", true],
    ["captures that there is nothing", null, at(ABSENT), ABSENT, ABSENT, false],
    ["captures nothing while there is no branch", null, at(null), null, null, false],
    ["finds the same", "a1", at("a1"), "a1", "a1", false],
    ["finds another, and keeps what was captured", "a1", at("a2", "a2"), "a1", "a2", true],
    ["finds it gone", "a1", at(ABSENT), "a1", ABSENT, true],
    ["finds what was not there", ABSENT, at("a1"), ABSENT, "a1", true],
    ["finds the branch gone", "a1", at(null), "a1", NO_BRANCH, true],
    ["finds the branch of what was not there gone", ABSENT, at(null), ABSENT, NO_BRANCH, true],
  ])("%s", (_, captured, found, then, current, drifted) => {
    const ids = afterReading(captured, found);
    expect(ids).toEqual({ captured: then, current });
    expect(isDrifted(ids.captured, ids.current)).toBe(drifted);
  });

  it("that finds it as it was captured again makes it fresh again", () => {
    const away = afterReading("a1", at("a2"));
    expect(afterReading(away.captured, at("a1"))).toEqual({ captured: "a1", current: "a1" });
  });
});

describe("driftText", () => {
  it.each<[string, Partial<Anchor>, RegExp]>([
    ["changed", { current: "a2" }, /^src\/a\.ts changed on main since/],
    ["gone", { current: ABSENT }, /^src\/a\.ts is gone from main since/],
    ["new", { captured: ABSENT, current: "a2" }, /^src\/a\.ts appeared on main since/],
    ["without its branch", { current: NO_BRANCH }, /^src\/a\.ts is gone with the branch main since/],
  ])("names what is %s, and what to do", (_, some, text) => {
    expect(driftText([anchor(some)])).toMatch(text);
    expect(driftText([anchor(some)])).toMatch(/check .* add the same links again/);
  });

  it("names five and counts the others", () => {
    const seven = Array.from({ length: 7 }, (_, index) => anchor({ target: `file/${index}`, current: "x" }));
    expect(driftText(seven)).toMatch(/^0 changed .*, 4 changed on main, and 2 more since/);
  });
});

describe("driftValue", () => {
  const paths = (...names: string[]) => driftValue(names.map((name) => anchor({ target: `file/${name}` })));
  const long = "x".repeat(200);

  it.each<[string, string, string]>([
    ["one", paths("a.ts"), "a.ts"],
    ["several", paths("a.ts", "docs/", "b.ts"), "a.ts, docs/, b.ts"],
    ["one that is long", paths(`${long}${long}`), `${long}${long}`],
    ["more than fit", paths("a", long, long, "b"), `a, ${long} and 2 more`],
  ])("names %s", (_, value, wanted) => expect(value).toBe(wanted));
});
