import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { itemOfBranch, workingBranch } from "../../src/domain/branch-names.ts";

describe("workingBranch", () => {
  it.each([
    ["outside a grouping", { number: 7, type: "feat" }, "feat/issue-7"],
    ["with another type", { number: 7, type: "fix" }, "fix/issue-7"],
    ["without an epic's branch", { number: 7, type: "feat", epicBranch: null }, "feat/issue-7"],
    ["under an epic", { number: 7, type: "feat", epicBranch: "feat/epic/slug" }, "feat/epic/slug-issue-7"],
    [
      "under an epic of another type",
      { number: 7, type: "fix", epicBranch: "feat/epic/a.b_C" },
      "feat/epic/a.b_C-issue-7",
    ],
    ["with a type that is none", { number: 7, type: "Feat: x" }, "feat/issue-7"],
    ["with an empty type", { number: 7, type: "" }, "feat/issue-7"],
    ["with a type that goes elsewhere", { number: 7, type: "../heads" }, "feat/issue-7"],
    ["under what is no epic's branch", { number: 7, type: "feat", epicBranch: "main" }, "feat/issue-7"],
    ["under a branch git refuses", { number: 7, type: "feat", epicBranch: "feat/epic/a..b" }, "feat/issue-7"],
    [
      "under a branch below an epic's",
      { number: 7, type: "feat", epicBranch: "feat/epic/a/b" },
      "feat/issue-7",
    ],
    [
      "under an item's branch",
      { number: 7, type: "feat", epicBranch: "feat/epic/a-issue-3" },
      "feat/issue-7",
    ],
  ])("%s", (_, item, branch) => expect(workingBranch(item)).toBe(branch));

  it.each([0, -1, 1.5, Number.NaN, 2 ** 53])("refuses the number %d", (number) => {
    expect(() => workingBranch({ number, type: "feat" })).toThrow(RangeError);
  });
});

describe("itemOfBranch", () => {
  it.each([
    ["feat/issue-7", 7],
    ["a-b2/issue-2101", 2101],
    ["feat/epic/slug-issue-7", 7],
    ["feat/epic/a-issue-3-issue-7", 7],
    ["epic/issue-7", 7],
  ])("%s is the branch of an item", (branch, number) => expect(itemOfBranch(branch)).toEqual({ number }));

  it.each([
    "",
    "revert-12-feat/issue-7",
    "revert-12-feat/epic/slug-issue-7",
    "main",
    "issue-7",
    "/issue-7",
    "Feat/issue-7",
    "2fix/issue-7",
    "feat/issue-07",
    "feat/issue-0",
    "feat/issue-",
    "feat/issue-7x",
    "feat/issue-7/x",
    "feat/issue-7-2",
    "feat/issue-7\n",
    "feat/ISSUE-7",
    "feat/x-issue-7",
    "x/feat/issue-7",
    "feat/epic/slug",
    "feat/epic/issue-7",
    "feat/epic/-issue-7",
    "feat/epic/a..b-issue-7",
    "feat/epic/slug/issue-7",
    "feat/issue-9007199254740993",
    "refs/heads/feat/issue-7",
    "gh-readonly-queue/dev/pr-7-x",
  ])("%j is the branch of none", (branch) => expect(itemOfBranch(branch)).toBeNull());

  it("finds the item whose branch it is", () => {
    const aType = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/);
    const aSlug = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);
    const anEpic = fc.option(fc.tuple(aType, aSlug).map(([type, slug]) => `${type}/epic/${slug}`));
    const aNumber = fc.integer({ min: 1, max: 2_147_483_647 });
    fc.assert(
      fc.property(aNumber, aType, anEpic, (number, type, epicBranch) => {
        expect(itemOfBranch(workingBranch({ number, type, epicBranch }))).toEqual({ number });
      }),
    );
  });

  it("finds the item whatever its tags say", () => {
    fc.assert(
      fc.property(fc.string(), fc.option(fc.string()), (type, epicBranch) => {
        expect(itemOfBranch(workingBranch({ number: 7, type, epicBranch }))).toEqual({ number: 7 });
      }),
    );
  });

  it("ends on a long hostile name", () => {
    expect(itemOfBranch(`feat/epic/${"a-issue-1".repeat(30_000)}!`)).toBeNull();
  });
});
