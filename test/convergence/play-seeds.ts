/**
 * Plays many games, a few at once, and tells which went wrong. CI plays a fixed range of seeds, in two files, for two cores.
 *
 * A failure prints its seed. `CONVERGENCE_SEED=7` plays that one alone and tells all that was done; `CONVERGENCE_SEEDS=1000`
 * plays so many, each file its half.
 */

import { expect, it } from "vitest";
import { play } from "./play.ts";
import { setStage } from "./stage.ts";

const ONE = process.env.CONVERGENCE_SEED;
const SEEDS = Number(process.env.CONVERGENCE_SEEDS ?? 200);
/** So many play at once, each on a database and a GitHub of its own. */
const STAGES = 3;

/** The seeds that the first or the second file plays. */
function seedsOf(half: 0 | 1): number[] {
  if (ONE !== undefined) return half === 0 ? [Number(ONE)] : [];
  const middle = Math.ceil(SEEDS / 2);
  return Array.from(
    { length: half === 0 ? middle : SEEDS - middle },
    (_, place) => half * middle + place + 1,
  );
}

/** One test: after one reconcile of whatever happened the store equals GitHub, for every seed of the half. */
export function itConverges(half: 0 | 1): void {
  const seeds = seedsOf(half);
  it(`for ${seeds.length} seeds from ${seeds[0]} on`, async () => {
    const failures: string[] = [];
    const waiting = [...seeds];
    await Promise.all(
      Array.from({ length: Math.min(STAGES, seeds.length) }, () => playFrom(waiting, failures)),
    );
    expect(failures.join("\n\n")).toBe("");
  }, 1_800_000);
}

async function playFrom(waiting: number[], failures: string[]): Promise<void> {
  const { stage, end } = await setStage();
  try {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      const { wrong, told } = await play(stage, seed);
      if (wrong.length === 0) continue;
      failures.push(`seed ${seed}:\n  ${wrong.join("\n  ")}`);
      if (ONE !== undefined) failures.push(told.join("\n"));
    }
  } finally {
    await end();
  }
}
