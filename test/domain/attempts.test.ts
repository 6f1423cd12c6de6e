import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AttemptFacts,
  type AttemptReading,
  countAttempts,
  isPoison,
  startsAttempt,
} from "../../src/domain/attempts.ts";

const read = (grants: number[], markers: number[], unposted: number[] = []) =>
  countAttempts({ grants, markers, unposted });

describe("countAttempts", () => {
  it.each<[string, number[], number[], number[], number, AttemptReading]>([
    ["no grants, no markers", [], [], [], 0, "never_claimed"],
    ["a grant whose marker never came", [1], [], [], 1, "claimed_but_unmarked"],
    ["several grants, no marker", [1, 2, 3], [], [], 3, "claimed_but_unmarked"],
    ["several grants, one marker still to be posted", [1, 2], [], [2], 2, "claimed_but_unmarked"],
    ["a grant whose marker is still to be posted", [1], [], [1], 1, "consistent"],
    ["as many markers as grants", [1, 2], [1, 2], [], 2, "consistent"],
    ["one marker there, one still to be posted", [1, 2], [1], [2], 2, "consistent"],
    ["fewer markers than grants", [1, 2, 3], [1, 3], [], 3, "gap"],
    ["more markers than grants", [1], [1, 2], [], 2, "marker_without_grant"],
    ["markers alone, after a lost database", [], [1, 2], [], 2, "marker_without_grant"],
    ["as many, but of other fences: the union counts", [1, 2], [2, 9], [], 3, "marker_without_grant"],
  ])("%s", (_, grants, markers, unposted, count, reading) =>
    expect(read(grants, markers, unposted)).toEqual({ count, reading }),
  );

  it("row 43: a fence repeated is one attempt", () => {
    expect(read([41], [41, 41, 41])).toEqual({ count: 1, reading: "consistent" });
  });

  it("GitHub being down suspends nothing: a grant counts before its marker is there", () => {
    expect(isPoison(read([1, 2, 3], [], [1, 2, 3]).count, 3)).toBe(true);
  });

  const fences = fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 8 });
  const anyFacts: fc.Arbitrary<AttemptFacts> = fc.record({
    grants: fences,
    markers: fences,
    unposted: fences,
  });

  it("counts the union of grants and markers, each fence once, in any order", () => {
    fc.assert(
      fc.property(anyFacts, ({ grants, markers, unposted }) => {
        const { count, reading } = countAttempts({ grants, markers, unposted });
        let union = 0;
        for (let fence = 1; fence <= 6; fence++) {
          if (grants.includes(fence) || markers.includes(fence)) union += 1;
        }
        expect(count).toBe(union);
        const twiceBackwards = countAttempts({
          grants: [...grants, ...grants].reverse(),
          markers: [...markers, ...markers].reverse(),
          unposted,
        });
        expect(twiceBackwards).toEqual({ count, reading });
      }),
    );
  });

  it("reads as consistent exactly what neither lacks a marker nor a grant", () => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const { grants, markers, unposted } = facts;
        const allMarked = grants.every((fence) => markers.includes(fence) || unposted.includes(fence));
        const allGranted = markers.every((fence) => grants.includes(fence));
        const { reading } = countAttempts(facts);
        expect(["consistent", "never_claimed"].includes(reading)).toBe(allMarked && allGranted);
        expect(reading === "never_claimed").toBe(grants.length + markers.length === 0);
        expect(reading === "marker_without_grant").toBe(!allGranted);
      }),
    );
  });
});

describe("isPoison", () => {
  it.each([
    [0, 3, false],
    [2, 3, false],
    [3, 3, true],
    [4, 3, true],
    [1, 1, true],
  ])("%d attempts with a threshold of %d: %s", (attempts, threshold, poison) =>
    expect(isPoison(attempts, threshold)).toBe(poison),
  );
});

describe("startsAttempt", () => {
  const a = { owner: "worker/a", actor: "actor-a" };
  const lapsed = { ...a, live: true, reclaims: 0 };

  it.each([
    ["the first claim", null, a, true],
    ["the same owner takes its own lapsed item: custody did not change", lapsed, a, false],
    ["and again: a crash loop must end", { ...lapsed, reclaims: 1 }, a, true],
    ["another owner of the same actor takes it", lapsed, { ...a, owner: "worker/b" }, true],
    ["another actor under the same owner name takes it", lapsed, { ...a, actor: "actor-b" }, true],
    ["the same owner after its release", { ...lapsed, live: false }, a, true],
    ["another owner after the release", { ...lapsed, live: false }, { owner: "b", actor: "b" }, true],
  ])("%s", (_, previous, claimant, starts) => expect(startsAttempt(previous, claimant)).toBe(starts));

  /** Grants one after another, each after the lapse (or release) of the one before. */
  const attemptsOf = (takers: readonly { owner: string; released: boolean }[]): boolean[] => {
    let previous: Parameters<typeof startsAttempt>[0] = null;
    return takers.map(({ owner, released }) => {
      const starts = startsAttempt(previous, { owner, actor: "actor" });
      const reclaims: number = starts || previous === null ? 0 : previous.reclaims + 1;
      previous = { owner, actor: "actor", live: !released, reclaims };
      return starts;
    });
  };

  it("lets a crash loop reach any threshold: of two grants in a row one counts at least", () => {
    const aTaker = fc.record({ owner: fc.constantFrom("a", "b"), released: fc.boolean() });
    fc.assert(
      fc.property(fc.array(aTaker, { minLength: 1, maxLength: 20 }), (takers) => {
        const starts = attemptsOf(takers);
        expect(starts[0]).toBe(true);
        for (const [index, taker] of takers.entries()) {
          const before = takers[index - 1];
          if (before === undefined) continue;
          if (before.owner !== taker.owner || before.released) expect(starts[index]).toBe(true);
          expect(starts[index] || starts[index - 1]).toBe(true);
        }
      }),
    );
  });

  it("counts every second grant of one owner that only crashes", () => {
    const loop = Array.from({ length: 6 }, () => ({ owner: "a", released: false }));
    expect(attemptsOf(loop)).toEqual([true, false, true, false, true, false]);
  });
});
