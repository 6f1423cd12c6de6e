/**
 * The race in short: 64 workers over 200 items and some notes, two real server processes on one PostgreSQL, pauses past
 * the lease's end, kill -9 of workers and of a server, PostgreSQL crashing in the middle. No rule of the checker may be
 * broken, and enough must have happened for that to mean something.
 */

import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { check } from "./checker.ts";
import { type Happened, type Race, runRace } from "./race.ts";
import { type Summary, summarise } from "./summary.ts";
import { describeViolations } from "./violation.ts";

/** The plan of what is broken, and of what each worker does, comes from it; how they interleave is the machine's. */
const SEED = Number(process.env.RACE_SEED ?? 20_260_906);
const DURATION_MS = 13_000;
/** How much longer a machine may take that gets little done. */
const PATIENCE_MS = 120_000;

type Least = Partial<Record<keyof Summary, number>>;
/** A race in which less happened proves nothing. */
const LEAST: Least = {
  grants: 150,
  refusals: 50,
  writes: 40,
  staleWrites: 3,
  waitsServed: 15,
  orderedPairs: 2,
  serversKilled: 1,
  postgresCrashes: 1,
  workersKilled: 2,
  pausedPastExpiry: 2,
};
/** Who took over from whom shows only in the database at the end. */
const LEAST_AT_THE_END: Least = { ...LEAST, takeovers: 5 };

/** What is missing in what happened, in words. */
function missingIn(happened: Happened, least: Least): string[] {
  const summary: Readonly<Record<string, unknown>> = { ...summarise(happened) };
  return Object.entries(least)
    .filter(([name, wanted]) => Number(summary[name]) < wanted)
    .map(([name, wanted]) => `too little happened: ${name} ${summary[name]}, at least ${wanted} are wanted`);
}

it("64 workers, two servers, crashes: one holder at a time, in order, and nothing is lost", async () => {
  const said: string[] = [];
  const race = await runRace({
    seed: SEED,
    durationMs: DURATION_MS,
    isEnough: (soFar) => missingIn(soFar, LEAST).length === 0,
    patienceMs: PATIENCE_MS,
    items: 200,
    notes: 7,
    durable: false,
    clockOffMs: [0, 0],
    processes: 8,
    wild: 36,
    calm: 5,
    lineLength: 5,
    observers: 1,
    say: (line) => said.push(`${(performance.now() / 1000).toFixed(1)} s  ${line}`),
  });
  const violations = describeViolations(check(race.history));
  const missing = missingIn(race, LEAST_AT_THE_END);
  if (violations === "" && race.problems.length === 0 && missing.length === 0) return;
  expect.fail(
    [
      `seed ${SEED}; again: RACE_SEED=${SEED} npm test -- test/chaos/race, or npm run chaos -- --seed ${SEED}`,
      `the history: ${await keep(race)}; judged again by npm run chaos -- --check FILE`,
      violations,
      ...race.problems,
      ...missing,
      JSON.stringify(summarise(race), null, 1),
      ...said,
      ...race.serverOutput.map((output) => output.slice(-2_000)),
    ].join("\n"),
  );
}, 600_000);

async function keep({ history }: Race): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), "leasehold-race-history-")), "history.json");
  await writeFile(file, JSON.stringify(history));
  return file;
}
