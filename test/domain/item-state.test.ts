import { describe, expect, it } from "vitest";
import { type ItemState, isTerminalTag, type Role, roleOf, stateTags } from "../../src/domain/item-state.ts";

describe("the closed vocabulary of state:", () => {
  it.each([
    ["complete", true],
    ["parked", true],
    ["cancelled", false],
    ["live", false],
    ["done", false],
    ["Complete", false],
    ["", false],
    ["constructor", false],
  ])("%j: %s", (value, isIn) => expect(isTerminalTag(value)).toBe(isIn));

  it.each<[ItemState, string[]]>([
    [null, []],
    ["complete", ["complete"]],
    ["parked", ["parked"]],
    ["cancelled", []],
  ])("%s is written as %j, and read back from it alone", (state, tags) => {
    expect(stateTags(state)).toEqual(tags);
    expect(tags.every(isTerminalTag)).toBe(true);
  });
});

describe("roleOf (section 9)", () => {
  it.each<[ItemState, boolean, Role]>([
    [null, false, "queue"],
    ["complete", false, "terminal"],
    ["cancelled", false, "terminal"],
    ["parked", false, "blocked"],
    [null, true, "work"],
    ["complete", true, "work"],
    ["cancelled", true, "work"],
    ["parked", true, "work"],
  ])("state %s, under an unexpired lease %s: %s", (state, held, role) =>
    expect(roleOf({ state, held })).toBe(role),
  );
});
