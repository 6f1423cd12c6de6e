/** What is remembered of callers, and for how long at most. */

import { describe, expect, it } from "vitest";
import { ADMIN } from "../../src/services/caller.ts";
import { type Identified, KnownCallers } from "../../src/services/known-callers.ts";

const HASH = Buffer.alloc(32, 7);

function scene() {
  const clock = { now: 0 };
  const known = new KnownCallers(() => clock.now);
  let asked = 0;
  const answers = (answer: Identified | null) => async () => {
    asked += 1;
    return answer;
  };
  return { clock, known, answers, asked: () => asked };
}

const valid = (validMs: number | null = null): Identified => ({ caller: ADMIN, validMs });

describe("a known caller", () => {
  it("is asked about again after a second, counted from before the question", async () => {
    const { clock, known, answers, asked } = scene();
    const late = Promise.withResolvers<Identified | null>();
    const first = known.find(HASH, () => late.promise);
    clock.now = 999;
    late.resolve(valid());
    expect(await first).toBe(ADMIN);
    expect(await known.find(HASH, answers(null))).toBe(ADMIN);
    clock.now = 1_000;
    expect(await known.find(HASH, answers(null))).toBeNull();
    expect(asked()).toBe(1);
  });

  it("is not remembered for longer than its token is valid", async () => {
    const { clock, known, answers } = scene();
    await known.find(HASH, answers(valid(10)));
    clock.now = 9;
    expect(await known.find(HASH, answers(null))).toBe(ADMIN);
    clock.now = 10;
    expect(await known.find(HASH, answers(null))).toBeNull();
  });

  it("is forgotten at once when it is told, also while the question is out", async () => {
    const { known, answers } = scene();
    const late = Promise.withResolvers<Identified | null>();
    const first = known.find(HASH, () => late.promise);
    known.forget();
    const second = known.find(HASH, answers(null));
    late.resolve(valid());
    expect(await first).toBe(ADMIN);
    expect(await second).toBeNull();
    expect(await known.find(HASH, answers(null))).toBeNull();
  });
});

describe("what is never remembered", () => {
  it("is that a token is not valid, or that nobody could be asked", async () => {
    const { known, answers } = scene();
    expect(await known.find(HASH, answers(null))).toBeNull();
    await expect(known.find(HASH, () => Promise.reject(new Error("away")))).rejects.toThrow("away");
    expect(await known.find(HASH, answers(valid()))).toBe(ADMIN);
  });
});
