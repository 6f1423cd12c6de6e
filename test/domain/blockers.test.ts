import { describe, expect, it } from "vitest";
import {
  type BlockerFacts,
  blockerStatus,
  isOpen,
  judgeEdge,
  type Stall,
  stallOf,
  stallText,
} from "../../src/domain/blockers.ts";
import type { ItemState } from "../../src/domain/item-state.ts";
import { blocker, TAGS } from "./facts.ts";

const anItem = (state: ItemState, ...tags: string[]): BlockerFacts => ({
  kind: "item",
  state,
  tags: [...TAGS, ...tags],
});
const anIssue = (open: boolean, stateReason: string | null): BlockerFacts => ({
  kind: "issue",
  open,
  stateReason,
});

type Authoring = "allow" | "refuse";
type Readiness = "satisfied" | "waiting" | "stalled" | "invalid";

/** The table of section 5. Readiness `invalid` has two names in the code, since their defects differ. */
const INVALID: readonly string[] = ["missing", "invalid"];
const TABLE: [string, BlockerFacts, Authoring, Readiness][] = [
  ["missing", { kind: "missing" }, "refuse", "invalid"],
  ["live", anItem(null), "allow", "waiting"],
  ["complete", anItem("complete", "state:complete"), "allow", "satisfied"],
  ["parked", anItem("parked", "state:parked"), "refuse", "stalled"],
  ["cancelled", anItem("cancelled"), "refuse", "stalled"],
  ["an unknown state:", anItem(null, "state:done"), "refuse", "invalid"],
  [
    "an unknown state: beside a known one",
    anItem("complete", "state:complete", "state:x"),
    "refuse",
    "invalid",
  ],
  ["a doubled state:", anItem("parked", "state:complete", "state:parked"), "refuse", "invalid"],
  ["an empty state:", anItem(null, "state:"), "refuse", "invalid"],
  ["a state: in other letters", anItem(null, "state:Complete"), "refuse", "invalid"],
];

describe("the target of a blockedBy edge (section 5)", () => {
  it.each(TABLE)("%s: readiness of the dependent", (_, facts, __, readiness) => {
    const status = blockerStatus(facts);
    expect(INVALID.includes(status) ? "invalid" : status).toBe(readiness);
    expect(isOpen({ ...blocker(3), status })).toBe(readiness !== "satisfied");
  });

  it.each(TABLE)("%s: authoring the edge", (_, facts, authoring) => {
    const refusal = judgeEdge(7, { ...blocker(3), status: blockerStatus(facts) }, null);
    if (authoring === "allow") return expect(refusal).toBeNull();
    expect(refusal).toMatchObject({ code: "edge_refused", detail: expect.stringContaining("#3") });
  });
});

describe("a blocker that is an issue but no item (section 6, rows 32 and 63)", () => {
  it.each([
    ["open", anIssue(true, null), "waiting"],
    ["reopened", anIssue(true, "reopened"), "waiting"],
    ["closed as completed", anIssue(false, "completed"), "satisfied"],
    ["closed without a reason", anIssue(false, null), "satisfied"],
    ["closed as not planned", anIssue(false, "not_planned"), "stalled"],
    ["closed as a duplicate", anIssue(false, "duplicate"), "stalled"],
    ["deleted", anIssue(false, "deleted"), "stalled"],
  ])("%s", (_, facts, status) => expect(blockerStatus(facts)).toBe(status));
});

describe("what brought a stalled blocker to its end, and what would free its dependents", () => {
  it.each<[string, ItemState, string | null, Stall]>([
    ["parked", "parked", null, "parked"],
    ["parked, and closed by an agent", "parked", "completed", "parked"],
    ["closed as not planned", "cancelled", "not_planned", "cancelled"],
    ["closed as a duplicate", "cancelled", "duplicate", "cancelled"],
    ["an issue that is no item, closed as not planned", null, "not_planned", "cancelled"],
    ["deleted", "cancelled", "deleted", "gone"],
    ["transferred", "cancelled", "transferred", "gone"],
    ["an issue that is no item, deleted", null, "deleted", "gone"],
  ])("%s", (_, state, reason, stall) => expect(stallOf({ state, reason })).toBe(stall));

  it.each<[Stall, string | null, string | null, RegExp]>([
    ["parked", "tess", "Which of the two?", /^is parked; tess must rule: Which of the two\?$/],
    ["parked", "alice", null, /^is parked: alice must unpark it, or the edge be removed$/],
    ["parked", null, null, /^is parked: a human must unpark it/],
    ["cancelled", null, null, /^is cancelled: reopen it, or remove the edge$/],
    ["gone", null, null, /^is gone from GitHub: remove the edge$/],
  ])("%s, ruled on by %s: %s", (stall, rulingOwner, question, text) =>
    expect(stallText({ stall, rulingOwner, question })).toMatch(text),
  );
});

it("row 63: a blocker where Leasehold is not installed blocks, and may be named", () => {
  const status = blockerStatus({ kind: "unknown" });
  expect(isOpen({ ...blocker(null), status })).toBe(true);
  expect(judgeEdge(7, { ...blocker(null), status }, null)).toBeNull();
});

describe("an edge that would close a cycle", () => {
  it.each<[string, number, readonly number[], readonly number[]]>([
    ["an item on itself", 7, [7], [7, 7]],
    ["two items", 3, [3, 7], [7, 3, 7]],
    ["a long chain", 3, [3, 5, 9, 7], [7, 3, 5, 9, 7]],
  ])("%s is refused with the cycle", (_, target, path, cycle) =>
    expect(judgeEdge(7, blocker(target), path)).toEqual({ code: "cycle", cycle }),
  );

  it("is refused also when the target is complete: it may be reopened", () => {
    expect(judgeEdge(7, blocker(3, "satisfied"), [3, 7])).toEqual({ code: "cycle", cycle: [7, 3, 7] });
  });

  it("is not taken for one because the same number exists in another repository", () => {
    expect(judgeEdge(9, blocker(null), null)).toBeNull();
  });
});

it("names a target in another repository by its key", () => {
  expect(judgeEdge(7, blocker(null, "stalled"), null)).toMatchObject({
    detail: expect.stringContaining("repo/o/other/mem/backlog/issue-9"),
  });
});
