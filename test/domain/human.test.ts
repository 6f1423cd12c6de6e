import { describe, expect, it } from "vitest";
import {
  type ActorFacts,
  hasTriage,
  hasWrite,
  isHuman,
  isListedAgent,
  mayBeHuman,
  PERMISSIONS,
} from "../../src/domain/human.ts";

const actor = (facts: Partial<ActorFacts["sender"]> = {}, rest: Partial<ActorFacts> = {}): ActorFacts => ({
  sender: { id: 1, login: "alice", type: "User", ...facts },
  viaApp: false,
  permission: "triage",
  ...rest,
});

describe("isHuman (section 3)", () => {
  it.each<[string, ActorFacts, readonly string[], boolean]>([
    ["a user with triage rights", actor(), [], true],
    ["a user without any", actor({}, { permission: "none" }), [], false],
    ["a user who may only read", actor({}, { permission: "read" }), [], false],
    ["a user who may write", actor({}, { permission: "write" }), [], true],
    ["a maintainer", actor({}, { permission: "maintain" }), [], true],
    ["an admin", actor({}, { permission: "admin" }), [], true],
    ["a bot, whatever its rights", actor({ type: "Bot" }, { permission: "admin" }), [], false],
    ["row 20: github-actions[bot]", actor({ login: "github-actions[bot]", type: "Bot" }), [], false],
    ["row 20: a mannequin", actor({ type: "Mannequin" }, { permission: "admin" }), [], false],
    ["row 20: an organization", actor({ type: "Organization" }, { permission: "admin" }), [], false],
    ["a type that GitHub may invent", actor({ type: "Agent" }, { permission: "admin" }), [], false],
    ["a type in other letters", actor({ type: "user" }), [], false],
    ["row 13: no sender", actor({ id: null, login: null, type: null }, { permission: "admin" }), [], false],
    ["row 13: a ghost of no login", actor({ login: null }, { permission: "admin" }), [], false],
    ["row 21: a user acting through an app", actor({}, { viaApp: true, permission: "admin" }), [], false],
    ["row 21: a machine account that is listed", actor({}, { permission: "admin" }), ["alice"], false],
    ["somebody else is listed", actor(), ["bob", "alic", "alicee"], true],
  ])("%s", (_, facts, agents, human) => expect(isHuman(facts, agents)).toBe(human));

  it("needs every one of the conditions: whoever may not be human is not made one by rights", () => {
    for (const type of ["User", "Bot", "Organization", "Mannequin", null]) {
      for (const viaApp of [false, true]) {
        for (const permission of PERMISSIONS) {
          for (const agents of [[], ["alice"]]) {
            const wanted =
              type === "User" &&
              !viaApp &&
              ["triage", "write", "maintain", "admin"].includes(permission) &&
              agents.length === 0;
            expect(isHuman(actor({ type }, { viaApp, permission }), agents)).toBe(wanted);
            if (wanted) expect(mayBeHuman(actor({ type }).sender, agents)).toBe(true);
          }
        }
      }
    }
  });
});

describe("row 25: an app is one actor under both of its names", () => {
  it.each([
    ["renovate[bot]", ["renovate"], true],
    ["renovate", ["renovate[bot]"], true],
    ["Renovate[bot]", ["RENOVATE[BOT]"], true],
    ["renovate[bot]", ["renovate[bot]"], true],
    ["worker-1", ["Worker-1"], true],
    ["renovate-x", ["renovate"], false],
    ["bot", ["[bot]x"], false],
    [null, ["renovate"], false],
    ["renovate", [], false],
  ])("%s, with %j listed: %s", (login, agents, listed) => expect(isListedAgent(login, agents)).toBe(listed));
});

describe("permissions", () => {
  it.each([
    ["none", false, false],
    ["read", false, false],
    ["triage", true, false],
    ["write", true, true],
    ["maintain", true, true],
    ["admin", true, true],
  ] as const)("%s: triage %s, write %s", (permission, triage, write) => {
    expect(hasTriage(permission)).toBe(triage);
    expect(hasWrite(permission)).toBe(write);
  });
});
