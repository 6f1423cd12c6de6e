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
import type { Exchange } from "./history.ts";
import { type Race, runRace } from "./race.ts";
import { type Summary, summarise } from "./summary.ts";
import { describeViolations } from "./violation.ts";

/** The plan of what is broken, and of what each worker does, comes from it; how they interleave is the machine's. */
const SEED = Number(process.env.RACE_SEED ?? 20_260_906);
const DURATION_MS = 13_000;
/** How much longer a machine may take that gets little done. */
const PATIENCE_MS = 60_000;

/** A race in which less happened proves nothing. */
const LEAST = {
  grants: 80,
  refusals: 30,
  takeovers: 5,
  writes: 40,
  staleWrites: 3,
  waitsServed: 15,
  orderedPairs: 2,
  serversKilled: 1,
  postgresCrashes: 1,
  workersKilled: 2,
  pausedPastExpiry: 2,
} as const satisfies Partial<Record<keyof Summary, number>>;

/** The workers go on until then; what only the whole history shows comes along with it. */
function isEnough(exchanges: readonly Exchange[]): boolean {
  const claims = exchanges.filter(({ call }) => call.kind.startsWith("claim"));
  const stale = exchanges.filter(
    ({ outcome }) => outcome.kind === "refused" && outcome.code === "stale_token",
  );
  return (
    claims.filter(({ outcome }) => outcome.kind === "granted").length > 2 * LEAST.grants &&
    claims.filter(({ outcome }) => outcome.kind === "not_granted").length > 2 * LEAST.refusals &&
    stale.length > 2 * LEAST.staleWrites
  );
}

it("64 workers, two servers, crashes: one holder at a time, in order, and nothing is lost", async () => {
  const said: string[] = [];
  const race = await runRace({
    seed: SEED,
    durationMs: DURATION_MS,
    isEnough,
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
  const summary = summarise(race);
  const violations = describeViolations(check(race.history));
  const least = Object.entries(LEAST).map(
    ([name, wanted]) => [name, wanted, summary[name as keyof typeof LEAST]] as const,
  );
  const missing = least.filter(([, wanted, had]) => had < wanted);
  if (violations === "" && race.problems.length === 0 && missing.length === 0) return;
  expect.fail(
    [
      `seed ${SEED}; again: RACE_SEED=${SEED} npm test -- test/chaos/race, or npm run chaos -- --seed ${SEED}`,
      `the history: ${await keep(race)}; judged again by npm run chaos -- --check FILE`,
      violations,
      ...race.problems,
      ...missing.map(
        ([name, wanted, had]) => `too little happened: ${name} ${had}, at least ${wanted} are wanted`,
      ),
      JSON.stringify(summary, null, 1),
      ...said,
      ...race.serverOutput.map((output) => output.slice(-2_000)),
    ].join("\n"),
  );
}, 240_000);

async function keep({ history }: Race): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), "leasehold-race-history-")), "history.json");
  await writeFile(file, JSON.stringify(history));
  return file;
}
