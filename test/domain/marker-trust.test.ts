import { describe, expect, it } from "vitest";
import { type MarkerFacts, markerCounts, markerProvesFence } from "../../src/domain/marker-trust.ts";

const marker = (facts: Partial<MarkerFacts> = {}): MarkerFacts => ({
  byApp: false,
  edited: false,
  byListedAgent: false,
  association: "NONE",
  granted: true,
  ...facts,
});

describe("which claim markers count (section 4)", () => {
  it.each<[string, MarkerFacts, boolean]>([
    ["the app's own", marker({ byApp: true }), true],
    ["the app's own, after a lost database", marker({ byApp: true, granted: false }), true],
    ["an owner's, for a grant that was made", marker({ association: "OWNER" }), true],
    ["a member's", marker({ association: "MEMBER" }), true],
    ["a collaborator's", marker({ association: "COLLABORATOR" }), true],
    ["a listed agent's, whatever it is to the repository", marker({ byListedAgent: true }), true],
    ["an owner's, for a grant that nobody made", marker({ association: "OWNER", granted: false }), false],
    [
      "a listed agent's, for a grant that nobody made",
      marker({ byListedAgent: true, granted: false }),
      false,
    ],
    ["row 43: a passer-by's, though it names a real grant", marker(), false],
    ["a contributor's", marker({ association: "CONTRIBUTOR" }), false],
    ["a first-time contributor's", marker({ association: "FIRST_TIME_CONTRIBUTOR" }), false],
    ["a mannequin's", marker({ association: "MANNEQUIN" }), false],
    ["one without an association", marker({ association: null }), false],
    ["an association in other letters", marker({ association: "owner" }), false],
    [
      "row 41: one edited into a comment of the app",
      marker({ byApp: true, edited: true, granted: false }),
      false,
    ],
  ])("%s: %s", (_, facts, counts) => expect(markerCounts(facts)).toBe(counts));

  it("nobody but the app can make an attempt of what was no grant", () => {
    for (const association of ["OWNER", "MEMBER", "COLLABORATOR", "NONE", null]) {
      for (const byListedAgent of [true, false]) {
        for (const edited of [true, false]) {
          expect(markerCounts(marker({ association, byListedAgent, edited, granted: false }))).toBe(false);
        }
      }
    }
  });
});

describe("which markers prove a fence (section 4: an unedited marker written by the app itself)", () => {
  it.each<[string, MarkerFacts, boolean]>([
    ["the app's own", marker({ byApp: true, granted: false }), true],
    ["the app's own, edited", marker({ byApp: true, edited: true, granted: false }), false],
    ["the app's own, edited, though it names a grant", marker({ byApp: true, edited: true }), false],
    ["an owner's", marker({ association: "OWNER" }), false],
    ["a listed agent's", marker({ byListedAgent: true }), false],
  ])("%s: %s", (_, facts, proves) => expect(markerProvesFence(facts)).toBe(proves));
});
