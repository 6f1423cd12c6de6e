/** Wakes of the drains: seldom enough to cost nothing under load, and never lost. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { spaced } from "../../src/edges/jobs/wake.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const counted = () => {
  const runs: number[] = [];
  const ends: (() => void)[] = [];
  const wake = spaced(() => {
    runs.push(Date.now());
    return new Promise((resolve) => ends.push(resolve));
  }, 50);
  const end = async () => {
    ends.shift()?.();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { runs, wake, end };
};

describe("spaced", () => {
  it("runs at once", () => {
    const { runs, wake } = counted();
    wake();
    expect(runs).toHaveLength(1);
  });

  it("turns any number of calls within the space into one further run, at its end", async () => {
    const { runs, wake, end } = counted();
    wake();
    await end();
    for (let call = 0; call < 1000; call += 1) wake();
    await vi.advanceTimersByTimeAsync(49);
    expect(runs).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toHaveLength(2);
    await end();
    await vi.advanceTimersByTimeAsync(500);
    expect(runs).toHaveLength(2);
  });

  it("does not lose a call that comes while it runs", async () => {
    const { runs, wake, end } = counted();
    wake();
    wake();
    await end();
    await vi.advanceTimersByTimeAsync(50);
    expect(runs).toHaveLength(2);
  });

  it("runs at once again after a rest", async () => {
    const { runs, wake, end } = counted();
    wake();
    await end();
    await vi.advanceTimersByTimeAsync(60);
    wake();
    expect(runs).toHaveLength(2);
  });
});
