/** Wakes of the drains: seldom enough to cost nothing under load, and never lost. */

import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from "kysely";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWake, spaced } from "../../src/edges/jobs/wake.ts";
import type { Tables } from "../../src/store/schema.ts";

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

describe("the outbox", () => {
  /** Wakes it twice within a moment, and answers which jobs were asked for, and how often it was worked off here. */
  const woken = async (drainsHere: boolean, ended = new AbortController()) => {
    const jobs: unknown[] = [];
    const db = new Kysely<Tables>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (inner) => new PostgresIntrospector(inner),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
      log: ({ query }) => void jobs.push(query.parameters[0]),
    });
    let drained = 0;
    const wake = createWake(db, pino({ level: "silent" }), ended.signal, () => {
      drained += 1;
      return drainsHere;
    });
    wake.outbox();
    wake.outbox();
    await vi.advanceTimersByTimeAsync(500);
    return { jobs, drained };
  };

  it("is worked off where the promise was made, without a job", async () => {
    expect(await woken(true)).toEqual({ jobs: [], drained: 2 });
  });

  it("is left to whoever takes the job where this process cannot tell GitHub", async () => {
    expect(await woken(false)).toEqual({ jobs: ["outbox", "outbox"], drained: 2 });
  });

  it("is not woken when the database is about to be closed", async () => {
    const ended = new AbortController();
    ended.abort();
    expect(await woken(false, ended)).toEqual({ jobs: [], drained: 0 });
  });
});
