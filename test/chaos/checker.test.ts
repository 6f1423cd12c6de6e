/** The checker itself: it finds every planted fault, and never complains of a correct lock. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { check } from "./checker.ts";
import { planted } from "./planted-faults.ts";
import type { Fault, Step } from "./simulated-lock.ts";
import { simulate } from "./simulated-race.ts";
import { describeViolations, RULES, type Rule } from "./violation.ts";

const rulesOf = (history: Parameters<typeof check>[0]): Rule[] => [
  ...new Set(check(history).map(({ rule }) => rule)),
];

describe("planted faults", () => {
  it.each(planted.map(({ rule, what, broken }) => [rule, what, broken] as const))(
    "%s: %s",
    (rule, _what, broken) => {
      expect(rulesOf(broken)).toEqual([rule]);
    },
  );

  it.each(planted.map(({ rule, fine }) => [rule, fine] as const))(
    "no false alarm beside %s",
    (_rule, fine) => {
      expect(describeViolations(check(fine))).toBe("");
    },
  );

  it("there is one for every rule", () => {
    expect([...new Set(planted.map(({ rule }) => rule))].sort()).toEqual([...RULES].sort());
  });
});

const RECORDS = 2;
const step: fc.Arbitrary<Step> = fc.record({
  worker: fc.nat({ max: 5 }),
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant("claim" as const) },
    { weight: 2, arbitrary: fc.constant("renew" as const) },
    { weight: 4, arbitrary: fc.constant("release" as const) },
    { weight: 4, arbitrary: fc.constant("write" as const) },
    { weight: 1, arbitrary: fc.constant("bare-write" as const) },
    { weight: 5, arbitrary: fc.constant("status" as const) },
    { weight: 2, arbitrary: fc.constant("read" as const) },
    { weight: 1, arbitrary: fc.constant("grants" as const) },
  ),
  record: fc.nat({ max: RECORDS - 1 }),
  pauseMs: fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 3_000 })),
  wayThereMs: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 800 })),
  wayBackMs: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 800 })),
  leaseSeconds: fc.integer({ min: 1, max: 3 }),
  maxWaitSeconds: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5 })),
  cut: fc.oneof(
    { weight: 18, arbitrary: fc.constant("no" as const) },
    { weight: 1, arbitrary: fc.constant("answer" as const) },
    { weight: 1, arbitrary: fc.constant("request" as const) },
  ),
});
const steps = fc.array(step, { minLength: 20, maxLength: 120, size: "max" });

describe("simulated locks", () => {
  it("a correct one never raises an alarm, however its requests interleave", () => {
    fc.assert(
      fc.property(steps, (played) => {
        expect(describeViolations(check(simulate(played, RECORDS)))).toBe("");
      }),
      { numRuns: 600 },
    );
  });

  it.each<[Fault, Rule[]]>([
    ["ignores_leases", ["two_holders"]],
    ["ignores_the_line", ["waiter_overtaken"]],
    ["ignores_the_mark", ["write_below_mark", "write_after_release"]],
    ["ignores_missing_tokens", ["write_without_token"]],
    ["renews_what_lapsed", ["renewed_after_end"]],
    ["repeats_tokens", ["token_not_increasing", "token_issued_twice"]],
    ["forgets_grants", ["grant_lost"]],
    ["drops_writes", ["write_lost"]],
  ])("one that %s is found out", (fault, wanted) => {
    const found = new Set<Rule>();
    for (const played of fc.sample(steps, { numRuns: 250, seed: 7 })) {
      for (const { rule } of check(simulate(played, RECORDS, fault))) found.add(rule);
    }
    expect([...found]).toEqual(expect.arrayContaining(wanted));
  });
});
