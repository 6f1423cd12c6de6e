/**
 * `npm run chaos -- --minutes 10 [--seed N] [--skew] [--keep FILE]`: the race for as long as you like. It ends with
 * exit code 1 when the checker has a complaint. `--skew` puts the second server's clock an hour ahead; `--keep`
 * writes the history down, `--check FILE` checks one that was kept.
 */

import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { check } from "./checker.ts";
import type { History } from "./history.ts";
import { runRace } from "./race.ts";
import { summarise } from "./summary.ts";
import { describeViolations } from "./violation.ts";

const HOUR_MS = 3_600_000;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string" },
    skew: { type: "boolean", default: false },
    keep: { type: "string" },
    check: { type: "string" },
  },
});

const say = (line: string): void => {
  process.stdout.write(`${(performance.now() / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
};

function judge(history: History, problems: readonly string[]): void {
  const violations = check(history);
  if (violations.length > 0) say(`\nViolations:\n${describeViolations(violations)}`);
  if (problems.length > 0) say(`\nProblems:\n${problems.join("\n")}`);
  if (violations.length + problems.length === 0) say("\nNothing that a correct program could not have done.");
  else process.exitCode = 1;
}

async function race(): Promise<void> {
  const minutes = Number(values.minutes);
  const seed = Number(values.seed ?? Date.now() % 1_000_000);
  if (!(minutes > 0) || !Number.isInteger(seed)) throw new Error("--minutes and --seed take numbers");
  const result = await runRace({
    seed,
    durationMs: minutes * 60_000,
    items: 200,
    notes: 7,
    durable: true,
    clockOffMs: [0, values.skew ? HOUR_MS : 0],
    processes: 16,
    wild: 28,
    calm: 5,
    lineLength: 5,
    observers: 1,
    say,
  });
  if (values.keep) await writeFile(values.keep, JSON.stringify(result.history));
  const { counts, ...totals } = summarise(result);
  const numbers = (of: object): string[] =>
    Object.entries(of).map(([name, count]) => `  ${String(count).padStart(7)}  ${name}`);
  say(["what happened:", ...numbers(totals), "answers:", ...numbers(counts)].join("\n"));
  judge(result.history, result.problems);
  if (process.exitCode) say(`\nThe servers' last words:\n${result.serverOutput.join("\n---\n")}`);
}

if (values.check) judge(JSON.parse(await readFile(values.check, "utf8")) as History, []);
else await race();
