/**
 * Whatever happens to the deliveries and to the program: after one reconcile the store equals GitHub, no comment stands
 * twice, and nothing that hangs on who did what was decided wrongly; and a second reconcile writes nothing.
 *
 * A failure prints its seed. `CONVERGENCE_SEED=7` plays that one alone and tells all that was done;
 * `CONVERGENCE_SEEDS=1000` plays so many.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { play, type Stage } from "./play.ts";
import { setStage } from "./stage.ts";

const ONE = process.env.CONVERGENCE_SEED;
const SEEDS = Number(process.env.CONVERGENCE_SEEDS ?? 45);
/** So many play at once, each on a database and a GitHub of its own. */
const STAGES = ONE === undefined ? 3 : 1;

const stages: { stage: Stage; end: () => Promise<void> }[] = [];

beforeAll(async () => {
  for (let place = 0; place < STAGES; place += 1) stages.push(await setStage());
});
afterAll(async () => {
  for (const { end } of stages) await end();
});

describe("after one reconcile the store equals GitHub", () => {
  it(`for ${ONE === undefined ? `${SEEDS} seeds` : `the seed ${ONE}`}`, async () => {
    const seeds = ONE === undefined ? Array.from({ length: SEEDS }, (_, place) => place + 1) : [Number(ONE)];
    const failures: string[] = [];
    await Promise.all(
      stages.map(async ({ stage }) => {
        for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
          const { wrong, told } = await play(stage, seed);
          if (wrong.length === 0) continue;
          failures.push(`seed ${seed}:\n  ${wrong.join("\n  ")}`);
          if (ONE !== undefined) failures.push(told.join("\n"));
        }
      }),
    );
    expect(failures.join("\n\n")).toBe("");
  }, 1_800_000);
});
