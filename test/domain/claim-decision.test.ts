import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Claimant, decideItemClaim, decideRecordClaim } from "../../src/domain/claim-decision.ts";
import { type ItemFacts, type ItemReason, reasonsAgainst } from "../../src/domain/why-not.ts";
import {
  aClaim,
  anItem,
  at,
  blocker,
  claim,
  HELD,
  HOME,
  item,
  LAPSED,
  NOW,
  RELEASED,
  tagsWith,
} from "./facts.ts";

const A: Claimant = { owner: "worker/a", actor: "actor-a", region: HOME };
const B: Claimant = { owner: "worker/b", actor: "actor-b", region: HOME };
const ABROAD: Claimant = { ...B, region: "eu" };

const decide = (facts: ItemFacts | null, claimant = B, deployment = HOME) =>
  decideItemClaim(facts, claimant, deployment, NOW);

describe("a claim on an item is refused", () => {
  it.each<[ItemReason, string, ItemFacts | null, Claimant]>([
    ["missing", "no such item", null, B],
    ["missing", "no such item, asked for from abroad", null, ABROAD],
    ["missing", "the enrolment label was taken away", item({ enrolled: false }), B],
    ["complete", "complete", item({ state: "complete", issueOpen: false }), B],
    ["parked", "parked", item({ state: "parked" }), B],
    ["closed", "cancelled", item({ state: "cancelled", issueOpen: false }), B],
    ["closed", "closed by an agent", item({ issueOpen: false }), B],
    ["foreign_region", "the claim names another region than this one", item(), ABROAD],
    [
      "foreign_region",
      "the item is at home elsewhere",
      item({ tags: tagsWith("homeRegion:", "homeRegion:eu") }),
      B,
    ],
    [
      "foreign_region",
      "the claim names the item's home, which is not here",
      item({ tags: tagsWith("homeRegion:", "homeRegion:eu") }),
      ABROAD,
    ],
    ["grouping", "an epic", item({ parts: 3, openParts: 1 }), B],
    ["not_admitted", "not admitted", item({ admitted: false }), B],
    ["blocked", "blocked", item({ blockers: [blocker(3)] }), B],
    ["poison", "at the threshold", item({ attempts: 3 }), B],
    [
      "poison",
      "the last holder itself, after its last lease lapsed",
      item({ attempts: 3, claim: LAPSED }),
      A,
    ],
    ["contended", "held by another", item({ claim: HELD }), B],
    ["contended", "held by the same owner", item({ claim: HELD }), A],
    [
      "contended",
      "held at the threshold: the third attempt runs to its end",
      item({ attempts: 3, claim: HELD }),
      B,
    ],
  ])("%s: %s", (reason, _, facts, claimant) =>
    expect(decide(facts, claimant)).toMatchObject({ granted: false, reason }),
  );

  it("says when to come back only where waiting can help", () => {
    expect(decide(item({ claim: HELD }))).toEqual({
      granted: false,
      reason: "contended",
      retryAfterMs: 60_000,
      blockers: [],
    });
    const blockedAndHeld = item({ claim: HELD, blockers: [blocker(3)] });
    expect(decide(blockedAndHeld)).toMatchObject({ reason: "blocked", retryAfterMs: null });
  });

  it("lists the blockers that are left", () => {
    const blockers = [blocker(3), blocker(4, "satisfied"), blocker(5, "stalled"), blocker(null, "unknown")];
    expect(decide(item({ blockers }))).toMatchObject({ reason: "blocked", blockers: [3, 5] });
    expect(decide(item({ blockers, admitted: false }))).toMatchObject({
      reason: "not_admitted",
      blockers: [],
    });
  });

  it("never tells who the holder is", () => {
    const secret = claim({ owner: "worker/secret", actor: "actor-secret" });
    expect(JSON.stringify(decide(item({ claim: secret })))).not.toContain("secret");
  });
});

describe("a claim on an item is granted", () => {
  it.each([
    ["for the first time", null, B, true, null],
    ["after a release", RELEASED, B, true, { owner: "worker/a", fence: 41, lapsed: false }],
    ["to another owner after a lapse", LAPSED, B, true, { owner: "worker/a", fence: 41, lapsed: true }],
    [
      "to the same owner after a lapse: custody did not change",
      LAPSED,
      A,
      false,
      { owner: "worker/a", fence: 41, lapsed: true },
    ],
    [
      "to the same owner after a second lapse",
      claim({ leaseExpiresAt: at(-1), reclaims: 1 }),
      A,
      true,
      { owner: "worker/a", fence: 41, lapsed: true },
    ],
    [
      "to another actor that calls itself the same",
      LAPSED,
      { ...A, actor: "actor-b" },
      true,
      { owner: "worker/a", fence: 41, lapsed: true },
    ],
  ])("%s", (_, facts, claimant, newAttempt, previous) =>
    expect(decide(item({ claim: facts }), claimant)).toEqual({ granted: true, newAttempt, previous }),
  );

  it("in a deployment elsewhere, to those who are at home there", () => {
    const abroad = item({ tags: tagsWith("homeRegion:", "homeRegion:eu") });
    expect(decide(abroad, ABROAD, "eu")).toMatchObject({ granted: true });
    expect(decide(abroad, B, "eu")).toMatchObject({ granted: false, reason: "foreign_region" });
  });
});

describe("every claim on an item", () => {
  it("is granted if and only if no reason speaks against it, and refused with the first that does", () => {
    fc.assert(
      fc.property(anItem, fc.constantFrom(A, B), (facts, claimant) => {
        const reasons = reasonsAgainst(facts, { now: NOW, region: HOME });
        const decision = decide(facts, claimant);
        expect(decision.granted).toBe(reasons.length === 0);
        if (!decision.granted) expect(decision.reason).toBe(reasons[0]?.reason);
      }),
      { numRuns: 1000 },
    );
  });

  it("has one winner: once granted, it is contended for everybody until the lease ends", () => {
    fc.assert(
      fc.property(
        anItem,
        fc.constantFrom(A, B),
        fc.integer({ min: 1, max: 1800 }),
        (facts, next, seconds) => {
          if (!decide(facts, A).granted) return;
          const held = { ...facts, claim: claim({ ...A, leaseExpiresAt: at(seconds) }) };
          expect(decide(held, next)).toMatchObject({ reason: "contended", retryAfterMs: seconds * 1000 });
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe("a claim on any other record", () => {
  const record = (facts: ItemFacts["claim"], claimant = B, exists = true) =>
    decideRecordClaim({ exists, claim: facts }, claimant, HOME, NOW);

  it.each([
    ["missing", "no such record", null, B, false],
    ["missing", "a record that was forgotten, its mark kept", RELEASED, B, false],
    ["foreign_region", "the claim names another region", null, ABROAD, true],
    ["contended", "held by another", HELD, B, true],
    ["contended", "held by the same owner", HELD, A, true],
  ])("is refused as %s: %s", (reason, _, facts, claimant, exists) =>
    expect(record(facts, claimant, exists)).toMatchObject({ granted: false, reason }),
  );

  it("is granted if and only if the record is free", () => {
    fc.assert(
      fc.property(fc.option(aClaim), (facts) => {
        const free = facts === null || !facts.live || facts.leaseExpiresAt.getTime() <= NOW.getTime();
        expect(record(facts).granted).toBe(free);
      }),
    );
  });
});
