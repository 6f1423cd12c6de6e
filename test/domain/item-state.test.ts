import { describe, expect, it } from "vitest";
import {
  type ItemState,
  isTerminalTag,
  type Role,
  type RoleFacts,
  roleOf,
  stateTags,
} from "../../src/domain/item-state.ts";

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
  const plain: RoleFacts = { state: null, held: false, startedAbove: false, onHold: false, pullOpen: false };

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
    expect(roleOf({ ...plain, state, held })).toBe(role),
  );

  it.each<[string, Partial<RoleFacts>, Role]>([
    ["its own pull request is open", { pullOpen: true }, "review"],
    ["its pull request is open and somebody holds it", { pullOpen: true, held: true }, "work"],
    ["somebody works on it below an epic's claim", { startedAbove: true }, "work"],
    [
      "it is worked on below a claim and its pull request is open",
      { startedAbove: true, pullOpen: true },
      "work",
    ],
    ["an orchestrator holds it back", { onHold: true }, "blocked"],
    ["it is on hold, and its pull request is open", { onHold: true, pullOpen: true }, "blocked"],
    ["it is on hold below an epic's claim", { onHold: true, startedAbove: true }, "blocked"],
    [
      "it is complete, whatever else",
      { state: "complete", onHold: true, startedAbove: true, pullOpen: true },
      "terminal",
    ],
    ["it is parked, and was worked on below a claim", { state: "parked", startedAbove: true }, "blocked"],
  ])("%s: %j", (_, facts, role) => expect(roleOf({ ...plain, ...facts })).toBe(role));
});
