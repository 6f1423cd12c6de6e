import { describe, expect, it } from "vitest";
import {
  type GroupedItem,
  type GroupingDefectCode,
  type GroupingShape,
  groupingDefects,
} from "../../src/domain/grouping-defects.ts";
import { LONER, tagsWith } from "./facts.ts";

const BRANCH = "feat/epic/pipes";
const epic: GroupedItem = { state: null, parts: 3, tags: tagsWith("baseBranch:", `baseBranch:${BRANCH}`) };
const container: GroupedItem = { state: null, parts: 3, tags: tagsWith("baseBranch:", "baseBranch:main") };
const part: GroupedItem = { state: null, parts: 0, tags: tagsWith("baseBranch:", "baseBranch:main") };
const WHOLE = { integratedBy: [9], hasDiagram: true };
const research = { tags: tagsWith("phase:", "phase:research") };

describe("groupingDefects (section 7)", () => {
  it.each<[string, GroupedItem, Partial<GroupingShape>, [GroupingDefectCode, string][]]>([
    ["a whole epic", epic, WHOLE, []],
    [
      "an epic that nothing integrates",
      epic,
      { ...WHOLE, integratedBy: [] },
      [["integration_missing", BRANCH]],
    ],
    [
      "an epic that two integrate",
      epic,
      { ...WHOLE, integratedBy: [8, 9] },
      [["integration_duplicated", "#8, #9"]],
    ],
    ["an epic without its diagram", epic, { integratedBy: [9] }, [["grouping_without_dag", BRANCH]]],
    [
      "an epic with neither",
      epic,
      {},
      [
        ["integration_missing", BRANCH],
        ["grouping_without_dag", BRANCH],
      ],
    ],
    [
      "an epic that is parked",
      { ...epic, state: "parked" },
      { ...WHOLE, hasDiagram: false },
      [["grouping_without_dag", BRANCH]],
    ],
    ["an epic that is complete", { ...epic, state: "complete" }, {}, []],
    ["an epic that is cancelled", { ...epic, state: "cancelled" }, {}, []],
    ["an item with an epic's branch and no parts", { ...epic, parts: 0 }, {}, []],
    ["a person's container, without a branch", container, {}, []],
    ["a research grouping", { ...container, ...research }, {}, []],
    [
      "a research grouping within another",
      { ...container, ...research },
      { isPart: true },
      [["nested_research", "phase:research"]],
    ],
    ["research within a grouping", { ...part, ...research }, { isPart: true }, []],
    ["an integration item that waits for all", part, { integrates: true, parentBranches: [BRANCH] }, []],
    [
      "one that does not",
      part,
      { integrates: true, unawaited: [3, 4] },
      [["integration_not_blocked_by_fanout", "#3, #4"]],
    ],
    [
      "a part whose base is the default branch",
      part,
      { parentBranches: [BRANCH] },
      [["epic_targets_main", "main"]],
    ],
    ["where that is called otherwise", part, { parentBranches: [BRANCH], defaultBranch: "trunk" }, []],
    ["a part of a person's container", part, { parentBranches: ["main"] }, []],
    [
      "a part that goes into the epic's branch",
      { ...part, tags: tagsWith("baseBranch:", `baseBranch:${BRANCH}`) },
      { parentBranches: [BRANCH] },
      [],
    ],
  ])("%s", (_, item, shape, found) =>
    expect(groupingDefects(item, { ...LONER, ...shape }).map(({ code, value }) => [code, value])).toEqual(
      found,
    ),
  );
});
