/** The test of the test: four faults that a mirror may have are planted in the program, and the games find each of them. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { play, type Stage } from "./play.ts";
import { setStage } from "./stage.ts";

/** The fault that is planted now. The modules that it stands in are replaced in this file only: the program has no such switch. */
const planted = vi.hoisted(() => ({
  fault: null as null | "older wins" | "anybody is human" | "writes blindly" | "any text is told",
}));

vi.mock(import("../../src/domain/mirror-merge.ts"), async (original) => {
  const real = await original();
  return {
    ...real,
    mergeIssue: (stored, incoming, delta) =>
      planted.fault === "older wins"
        ? { kind: "save", issue: incoming }
        : real.mergeIssue(stored, incoming, delta),
  };
});
vi.mock(import("../../src/domain/body-trail.ts"), async (original) => {
  const real = await original();
  return {
    ...real,
    followBody: (trail, news) => (planted.fault === "any text is told" ? null : real.followBody(trail, news)),
  };
});
vi.mock(import("../../src/services/ask-actor.ts"), async (original) => {
  const real = await original();
  return {
    ...real,
    isOfHuman: async (...asked) => planted.fault === "anybody is human" || (await real.isOfHuman(...asked)),
    askHuman: async (...asked) => planted.fault === "anybody is human" || (await real.askHuman(...asked)),
  };
});
vi.mock(import("../../src/github/reads.ts"), async (original) => {
  const real = await original();
  return {
    ...real,
    hasOwnComment: async (...asked) =>
      planted.fault !== "writes blindly" && (await real.hasOwnComment(...asked)),
  };
});

/** So many games are played at most until one finds the fault. */
const MOST = 60;

let set: { stage: Stage; end: () => Promise<void> };
beforeEach(async () => {
  set = await setStage();
});
afterEach(async () => {
  planted.fault = null;
  await set.end();
});

/** Whether one of the games from this seed on finds something that is put so. Each fault begins a little before its first. */
async function isFound(words: RegExp, from: number): Promise<boolean> {
  for (let seed = from; seed < from + MOST; seed += 1) {
    const { wrong } = await play(set.stage, seed);
    if (wrong.some((what) => words.test(what))) return true;
  }
  return false;
}

describe("a planted fault is found", () => {
  it("an older snapshot takes the place of a newer one", async () => {
    planted.fault = "older wins";
    expect(await isFound(/before the reconcile: .* stored .*, GitHub/, 20)).toBe(true);
  }, 300_000);

  it("who did it is not asked", async () => {
    planted.fault = "anybody is human";
    expect(await isFound(/admitted: true, by its history false/, 1)).toBe(true);
  }, 300_000);

  it("a text that another event brought is taken as told", async () => {
    planted.fault = "any text is told";
    expect(await isFound(/admitted: true, by its history false/, 10)).toBe(true);
  }, 300_000);

  it("a comment that may stand is posted again without looking", async () => {
    planted.fault = "writes blindly";
    expect(await isFound(/was promised 1 times and stands 2/, 1)).toBe(true);
  }, 300_000);
});
