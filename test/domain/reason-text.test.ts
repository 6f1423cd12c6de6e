import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { overlapText, reasonText } from "../../src/domain/reason-text.ts";
import { ALONE, type ItemFacts, reasonsAgainst } from "../../src/domain/why-not.ts";
import { anItem, at, blocker, HELD, HOME, item, LAPSED, NOW, tagsWith } from "./facts.ts";

const WORDING = { now: NOW, labels: { gate: "needs-spec", stale: "parked" } };
const REVIEW = { review: "in_review", pull: 12, waits: "checks" } as const;

/** What is told of an item, the reasons in their order. */
const told = (facts: Partial<ItemFacts>): string[] => {
  const whole = item(facts);
  return reasonsAgainst(whole, { now: NOW, region: HOME }).map((reason) =>
    reasonText(reason, whole, WORDING),
  );
};

describe("why an item is not offered, in words", () => {
  it.each<[string, Partial<ItemFacts>, RegExp]>([
    ["no item", { enrolled: false }, /no item of the backlog/],
    ["complete", { state: "complete", issueOpen: false }, /^is complete$/],
    [
      "complete, its issue reopened by an agent",
      { state: "complete" },
      /^is complete; .*close and reopen it as a human/,
    ],
    [
      "cancelled, its issue reopened by an agent",
      { state: "cancelled" },
      /^is cancelled; .*reopen it as a human/,
    ],
    [
      "parked with a question",
      { state: "parked", rulingOwner: "tess", question: "Which?" },
      /tess must rule: Which\?; a human unparks it by taking the label parked off/,
    ],
    ["parked for its attempts", { state: "parked" }, /^is parked; a human unparks it/],
    ["cancelled", { state: "cancelled", issueOpen: false }, /cancelled; a human brings it back by reopening/],
    ["closed by an agent", { issueOpen: false }, /closed, but not by a human as completed: reopen it/],
    ["at home elsewhere", { tags: tagsWith("homeRegion:", "homeRegion:eu") }, /its home region is eu/],
    ["a grouping", { parts: 1, openParts: 1 }, /its parts are worked on, not it/],
    ["not admitted", { admitted: false }, /taking the label needs-spec off/],
    [
      "on hold",
      { hold: { by: "boss", at: NOW, note: "later" } },
      /on hold since .* by boss: later; the trigger resume/,
    ],
    ["blocked by one", { blockers: [blocker(3)] }, /^waits for #3$/],
    ["blocked by several", { blockers: [blocker(3), blocker(5)] }, /^waits for #3, #5$/],
    [
      "blocked by what rests and what does not",
      { blockers: [blocker(3), blocker(4, "stalled"), blocker(5, "missing"), blocker(6, "invalid")] },
      /^waits for #3; #4 is parked: a human must unpark it, .*; #5 does not exist.*; #6 carries an unknown/,
    ],
    [
      "blocked here and elsewhere",
      { blockers: [blocker(3), blocker(null)] },
      /^waits for #3; repo\/o\/other\/mem\/backlog\/issue-9 is not complete$/,
    ],
    [
      "blocked where nobody hears",
      { blockers: [blocker(null, "unknown")] },
      /issue-9 blocks: Leasehold is not installed there/,
    ],
    ["held", { claim: HELD }, /is being worked on, under a lease until 20\d\d-/],
    ["a claim above waits", { grouping: { ...ALONE, queuedAbove: true } }, /wait in line/],
    ["in review", { review: REVIEW }, /pull request #12 waits for/],
    ["poison", { attempts: 3 }, /^3 attempts of 3 are used up: the sweep parks it$/],
    ["claimed above", { grouping: { ...ALONE, claimedAbove: true } }, /an epic above it is claimed whole/],
    [
      "being integrated",
      { grouping: { ...ALONE, integrating: true } },
      /the integration item of its grouping/,
    ],
    ["to be integrated", { grouping: { ...ALONE, fanOutOpen: true } }, /the rest of that has to be complete/],
    [
      "quarantined",
      { claim: LAPSED, activeAt: at(0) },
      /kept from others until 20\d\d-.*, unless they take it over/,
    ],
    ["a resource is held", { takenResources: ["staging"] }, /another item holds staging/],
  ])("%s", (_, facts, text) => expect(told(facts)[0]).toMatch(text));

  it("says something of every reason, and never the bare word that stands beside it", () => {
    fc.assert(
      fc.property(anItem, (facts) => {
        for (const reason of reasonsAgainst(facts, { now: NOW, region: HOME })) {
          const text = reasonText(reason, facts, WORDING);
          expect(text).toMatch(/\w+ \w+/);
          expect(text).not.toBe(reason.reason);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("tells of a defect what mends it", () =>
    expect(reasonText({ reason: "defect", detail: "keep one" }, item({}), WORDING)).toBe("keep one"));
});

it("an overlap names what it would touch, where the reader may know", () => {
  expect(overlapText([8, 9])).toContain("the files of #8, #9, in flight");
  expect(overlapText([])).toContain("work out of sight");
});
