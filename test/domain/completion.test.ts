import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isNewsOfMerge, itemsOfPull, judgeMerge, type MergedPull } from "../../src/domain/completion.ts";
import type { ItemState } from "../../src/domain/item-state.ts";

const pull = (facts: Partial<MergedPull> = {}): MergedPull => ({
  number: 12,
  baseRef: "dev",
  headRef: "topic",
  sameRepository: true,
  ...facts,
});

describe("itemsOfPull", () => {
  it.each<[string, MergedPull, number[], number[], number[]]>([
    ["nothing names an item", pull(), [], [], []],
    ["a closing keyword", pull(), [7], [], [7]],
    ["recorded as pr:12", pull(), [], [7], [7]],
    ["the item's working branch", pull({ headRef: "feat/issue-7" }), [], [], [7]],
    ["the working branch under an epic", pull({ headRef: "feat/epic/pipes-issue-7" }), [], [], [7]],
    ["the epic's own branch is no item's", pull({ headRef: "feat/epic/pipes" }), [], [], []],
    [
      "a fork's branch of that name is not the item's",
      pull({ headRef: "feat/issue-7", sameRepository: false }),
      [],
      [],
      [],
    ],
    ["a fork that closes it by keyword", pull({ sameRepository: false }), [7], [], [7]],
    ["all three ways at once: one item", pull({ headRef: "feat/issue-7" }), [7], [7], [7]],
    ["several items", pull({ headRef: "feat/issue-7" }), [20, 3], [9], [3, 7, 9, 20]],
  ])("%s", (_, facts, closes, recorded, items) =>
    expect(itemsOfPull(facts, closes, recorded)).toEqual(items),
  );
});

describe("isNewsOfMerge", () => {
  const at = (minute: number): Date => new Date(Date.UTC(2026, 8, 6, 12, minute));
  const KNOWN_SINCE = at(0);
  const open = { mergedAt: null };
  const merged = { mergedAt: at(30) };
  it.each<[string, string | null, Date | null, typeof open | typeof merged | null, boolean]>([
    ["not merged", "closed", null, open, false],
    ["the event", "closed", at(30), open, true],
    ["the event, which comes again", "closed", at(30), merged, true],
    [
      "another event of one that was open: its own was lost, or comes later",
      "review_requested",
      at(30),
      open,
      true,
    ],
    ["another event of one whose merge is known", "review_requested", at(30), merged, false],
    ["another event of one that was never heard of", "labeled", at(30), null, true],
    ["a reading of one that was open", null, at(30), open, true],
    ["a reading of one whose merge is known", null, at(30), merged, false],
    ["one that was never heard of", null, at(30), null, true],
    [
      "one that was merged before the repository was heard of",
      null,
      new Date(Date.UTC(2026, 8, 5)),
      null,
      false,
    ],
    ["but not by the event of it", "closed", new Date(Date.UTC(2026, 8, 5)), null, true],
  ])("%s", (_, action, mergedAt, known, isNews) =>
    expect(isNewsOfMerge({ action, mergedAt }, known, KNOWN_SINCE)).toBe(isNews),
  );
});

describe("judgeMerge (section 8)", () => {
  it.each<[string, string, ItemState, string | null, string]>([
    ["rows 49, 51: into the item's base", "dev", null, "dev", "complete"],
    ["row 50: into another branch", "feature-x", null, "dev", "wrong_base"],
    ["into the default branch, which is not the item's base", "main", null, "dev", "wrong_base"],
    ["a base in other letters: git tells them apart", "Dev", null, "dev", "wrong_base"],
    ["a missing or doubled base is never guessed", "main", null, null, "wrong_base"],
    ["a parked item's work was merged all the same", "dev", "parked", "dev", "complete"],
    ["row 55: again: it is complete already", "dev", "complete", "dev", "nothing"],
    ["row 61: a revert into another branch does not undo it", "main", "complete", "dev", "nothing"],
  ])("%s", (_, baseRef, state, baseBranch, verdict) =>
    expect(judgeMerge({ baseRef }, { state, baseBranch, isGrouping: false })).toBe(verdict),
  );

  it.each([
    ["into its base", "dev"],
    ["elsewhere", "main"],
  ])("says nothing of a grouping that a merge names, %s", (_, baseRef) =>
    expect(judgeMerge({ baseRef }, { state: null, baseBranch: "dev", isGrouping: true })).toBe("nothing"),
  );

  it("completes only what was merged into its base, and only once", () => {
    const branch = fc.constantFrom("main", "dev", "feat/epic/a");
    fc.assert(
      fc.property(
        branch,
        fc.option(branch),
        fc.constantFrom<ItemState>(null, "parked", "complete"),
        (baseRef, baseBranch, state) => {
          const completes = judgeMerge({ baseRef }, { state, baseBranch, isGrouping: false }) === "complete";
          expect(completes).toBe(state !== "complete" && baseRef === baseBranch);
        },
      ),
    );
  });
});
