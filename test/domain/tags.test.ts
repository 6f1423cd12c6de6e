import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  hasLabel,
  isPhase,
  isPriority,
  isReservedTag,
  PRIORITIES,
  prioritiesOfLabels,
  priorityOfLabel,
  priorityRank,
  sameLabel,
  tagValue,
  tagValues,
  withTag,
} from "../../src/domain/tags.ts";

describe("priorityOfLabel", () => {
  it.each(
    PRIORITIES.flatMap((priority) =>
      [`priority:${priority}`, `priority/${priority}`, priority].flatMap((label) =>
        [label, label.toLowerCase(), label.toUpperCase()].map((spelling) => [spelling, priority]),
      ),
    ),
  )("%s asks for %s", (label, priority) => expect(priorityOfLabel(label)).toBe(priority));

  it.each([
    "P4",
    "P",
    "P10",
    "P01",
    "P-1",
    "1",
    "priority",
    "priority:",
    "priority:1",
    "priority:high",
    "priority:P4",
    "priority-P1",
    "priority//P1",
    "xpriority:P1",
    "MP3",
    "P1 bug",
    "",
  ])("%j asks for none", (label) => expect(priorityOfLabel(label)).toBeNull());
});

describe("prioritiesOfLabels", () => {
  it.each<[string[], string[]]>([
    [[], []],
    [["bug", "backlog"], []],
    [["bug", "P1"], ["P1"]],
    [["P1", "priority:p1", "Priority/P1"], ["P1"]],
    [
      ["priority:P3", "P0"],
      ["P0", "P3"],
    ],
  ])("%j: %j", (labels, priorities) => expect(prioritiesOfLabels(labels)).toEqual(priorities));

  it("does not hang on the labels' order", () => {
    const labels = fc.array(fc.constantFrom("P0", "p1", "priority:P2", "priority/p3", "bug"));
    fc.assert(
      fc.property(labels, (given) => {
        expect(prioritiesOfLabels(given.toReversed())).toEqual(prioritiesOfLabels(given));
      }),
    );
  });
});

describe("priorityRank", () => {
  it("orders P0 before P1 before P2 before P3 before what cannot be told", () => {
    const ranks = [
      ["priority:P0"],
      ["priority:P1"],
      ["priority:P2"],
      ["priority:P3"],
      ["priority:P0", "priority:P1"],
    ].map(priorityRank);
    expect(ranks.every((rank, index) => index === 0 || rank > (ranks[index - 1] ?? rank))).toBe(true);
  });

  it.each([[[]], [["priority:P9"]], [["priority:"]], [["priority:P0", "priority:P3"]]])(
    "never guesses: %j sorts behind every known priority",
    (tags) => expect(priorityRank(tags)).toBeGreaterThan(priorityRank(["priority:P3"])),
  );
});

describe("tags by prefix", () => {
  it.each<[string[], string[], string | null]>([
    [[], [], null],
    [["phase:research"], ["research"], "research"],
    [["phase:research", "phase:integration"], ["research", "integration"], null],
    [["phase:research", "phase:research"], ["research", "research"], null],
    [["phase:a:b"], ["a:b"], "a:b"],
    [["phase:"], [""], ""],
    [["phases:x", "xphase:y", "phase"], [], null],
  ])("%j: values %j, and one value: %j", (tags, values, value) => {
    expect(tagValues(tags, "phase:")).toEqual(values);
    expect(tagValue(tags, "phase:")).toBe(value);
  });

  it("withTag leaves exactly the given values of the prefix, and every other tag", () => {
    const someTags = fc.array(fc.constantFrom("backlog", "state:complete", "state:x", "pr:7", "team:red"));
    const values = fc.uniqueArray(fc.constantFrom("complete", "parked"));
    fc.assert(
      fc.property(someTags, values, (tags, wanted) => {
        const changed = withTag(tags, "state:", wanted);
        expect(tagValues(changed, "state:")).toEqual(wanted);
        const others = (list: readonly string[]) => list.filter((tag) => !tag.startsWith("state:"));
        expect(others(changed)).toEqual(others(tags));
        expect(withTag(changed, "state:", wanted)).toEqual(changed);
      }),
    );
  });
});

describe("what general writes may not touch (section 2)", () => {
  it.each(["backlog", "state:complete", "state:", "state:x", "priority:P0", "priority:", "pr:7"])(
    "%s is reserved",
    (tag) => expect(isReservedTag(tag)).toBe(true),
  );

  it.each([
    "phase:research",
    "homeRegion:eu",
    "baseBranch:dev",
    "resource:db",
    "trait:deploys",
    "type:fix",
    "team:red",
    "backlogs",
    "my:backlog",
    "state",
    "proto",
    "priority",
  ])("%s is not", (tag) => expect(isReservedTag(tag)).toBe(false));
});

describe("the closed lists", () => {
  it.each(["P0", "P1", "P2", "P3"])("%s is a priority", (value) => expect(isPriority(value)).toBe(true));
  it.each(["p0", "P4", "", "P0 "])("%j is no priority", (value) => expect(isPriority(value)).toBe(false));
  it.each(["research", "implementation", "integration"])("%s is a phase", (value) =>
    expect(isPhase(value)).toBe(true),
  );
  it.each(["done", "Research", "complete", ""])("%j is no phase", (value) =>
    expect(isPhase(value)).toBe(false),
  );
});

describe("row 17: labels match without regard to case", () => {
  it.each([
    ["Needs-Specification", "needs-specification", true],
    ["STALE", "stale", true],
    ["needs specification", "needs-specification", false],
    ["stale ", "stale", false],
    ["", "stale", false],
  ])("%j and %j: %s", (label, name, same) => {
    expect(sameLabel(label, name)).toBe(same);
    expect(sameLabel(name, label)).toBe(same);
    expect(hasLabel(["bug", label], name)).toBe(same);
  });

  it("finds nothing among no labels", () => expect(hasLabel([], "stale")).toBe(false));
});
