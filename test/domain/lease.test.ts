import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideRecordClaim } from "../../src/domain/claim-decision.ts";
import {
  type ClaimView,
  clampLease,
  decideRelease,
  decideRenew,
  isHeld,
  type ReleaseVerdict,
  type RenewVerdict,
} from "../../src/domain/lease.ts";
import { reasonsAgainst } from "../../src/domain/why-not.ts";
import { aClaim, at, claim, HOME, item, NOW } from "./facts.ts";

const BOUNDS = { defaultSeconds: 30, maxSeconds: 1800 };

describe("clampLease", () => {
  it.each([
    ["omitted: the default", undefined, BOUNDS, 30],
    ["the least", 1, BOUNDS, 1],
    ["as asked", 900, BOUNDS, 900],
    ["the maximum itself", 1800, BOUNDS, 1800],
    ["over the maximum: capped, not refused", 1801, BOUNDS, 1800],
    ["far over it", Number.MAX_SAFE_INTEGER, BOUNDS, 1800],
    ["a default over the maximum", undefined, { defaultSeconds: 60, maxSeconds: 30 }, 30],
  ])("%s", (_, asked, bounds, granted) => expect(clampLease(asked, bounds)).toBe(granted));

  it("never grants more than was asked for or is allowed, and grants what is allowed", () => {
    const seconds = fc.integer({ min: 1, max: 7200 });
    fc.assert(
      fc.property(seconds, seconds, (asked, maxSeconds) => {
        const granted = clampLease(asked, { defaultSeconds: 30, maxSeconds });
        expect(granted).toBeLessThanOrEqual(asked);
        expect(granted).toBeLessThanOrEqual(maxSeconds);
        expect([asked, maxSeconds]).toContain(granted);
      }),
    );
  });
});

const view = (facts: Partial<ClaimView> = {}): ClaimView => ({
  fence: 41,
  live: true,
  actor: "a",
  leaseExpiresAt: at(60),
  ...facts,
});

describe("decideRenew", () => {
  it.each<[string, ClaimView | null, number, string, RenewVerdict]>([
    ["the holder, in time", view(), 41, "a", "renew"],
    ["the holder, a millisecond before the end", view({ leaseExpiresAt: at(0.001) }), 41, "a", "renew"],
    ["the holder, at the very end", view({ leaseExpiresAt: NOW }), 41, "a", "superseded"],
    ["the holder, after the lapse", view({ leaseExpiresAt: at(-1) }), 41, "a", "superseded"],
    ["a token that was overtaken", view({ fence: 42 }), 41, "a", "superseded"],
    ["a token that was never issued", view(), 42, "a", "superseded"],
    ["after the release", view({ live: false }), 41, "a", "superseded"],
    ["a record that was never claimed", null, 41, "a", "superseded"],
    ["another actor with the holder's public token", view(), 41, "b", "not_holder"],
    ["another actor with an overtaken token", view({ fence: 42 }), 41, "b", "superseded"],
  ])("%s", (_, claimView, token, actor, verdict) =>
    expect(decideRenew(claimView, token, actor, NOW)).toBe(verdict),
  );
});

describe("decideRelease", () => {
  it.each<[string, ClaimView | null, number, string, ReleaseVerdict]>([
    ["the holder", view(), 41, "a", "release"],
    [
      "a lapsed holder, as nobody else took the item",
      view({ leaseExpiresAt: at(-3600) }),
      41,
      "a",
      "release",
    ],
    ["the holder again: nothing is left to release", view({ live: false }), 41, "a", "unclaimed"],
    ["a record that was never claimed", null, 41, "a", "unclaimed"],
    ["a token that was overtaken", view({ fence: 42 }), 41, "a", "stale"],
    ["a token that was overtaken, after that release", view({ fence: 42, live: false }), 41, "a", "stale"],
    ["a token that was never issued", view(), 42, "a", "stale"],
    ["another actor with the holder's public token", view(), 41, "b", "not_holder"],
  ])("%s", (_, claimView, token, actor, verdict) =>
    expect(decideRelease(claimView, token, actor)).toBe(verdict),
  );
});

describe("isHeld", () => {
  it.each([
    ["never claimed", null, false],
    ["live, a millisecond left", { live: true, leaseExpiresAt: at(0.001) }, true],
    ["live, at the exact end", { live: true, leaseExpiresAt: NOW }, false],
    ["live, a millisecond over", { live: true, leaseExpiresAt: at(-0.001) }, false],
    ["released with time left", { live: false, leaseExpiresAt: at(60) }, false],
  ])("%s", (_, facts, held) => expect(isHeld(facts, NOW)).toBe(held));

  it("is the one line that renewing, claiming again and the ready set agree on", () => {
    const other = { owner: "worker/c", actor: "actor-c", region: HOME };
    fc.assert(
      fc.property(aClaim, (facts) => {
        const held = isHeld(facts, NOW);
        expect(decideRenew(facts, facts.fence, facts.actor, NOW) === "renew").toBe(held);
        expect(decideRecordClaim({ exists: true, claim: facts }, other, HOME, NOW).granted).toBe(!held);
        const reasons = reasonsAgainst(item({ claim: facts }), { now: NOW, region: HOME });
        expect(reasons).toEqual(held ? [{ reason: "contended" }] : []);
      }),
    );
  });

  it("lapses by itself: nobody sweeps claims", () => {
    const facts = claim({ leaseExpiresAt: at(30) });
    expect([29.999, 30].map((seconds) => isHeld(facts, at(seconds)))).toEqual([true, false]);
  });
});
