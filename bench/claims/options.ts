/** The options of `npm run bench:claims -- …`. */

import { parseArgs } from "node:util";

export interface Options {
  /** How long each figure is measured, over all rounds. */
  readonly seconds: number;
  /** Slices of each figure, alternating with the others. */
  readonly rounds: number;
  /** Only figures whose name or group contains one of these; the reference always. */
  readonly only: readonly string[];
  /** How many items the backlog has. */
  readonly items: number;
  /** How many items the large backlog has whose claims are compared with those of a small one. */
  readonly many: number;
  /** Where the figures are written as JSON. */
  readonly json: string | null;
  /** A PostgreSQL to use in place of one of its own; databases named bench_… are made in it and dropped. */
  readonly databaseUrl: string | null;
}

export const HELP = `npm run bench:claims -- [options]
  --seconds N        how long each figure is measured (6)
  --rounds N         in how many slices, alternating with the others (3)
  --only TEXT        only figures whose name contains it ("http: claim, 50"); may be given several times
  --items N          items in the backlog (100000)
  --many N           items in the large backlog of the comparison of sizes (100000; the target speaks of 1000000)
  --json FILE        write the figures as JSON too
  --database-url U   use this PostgreSQL; a superuser is needed to fill it quickly
`;

/** Reads the options. Throws an `Error` that says which is wrong. */
export function readOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string", default: "6" },
      rounds: { type: "string", default: "3" },
      only: { type: "string", multiple: true, default: [] },
      items: { type: "string", default: "100000" },
      many: { type: "string", default: "100000" },
      json: { type: "string" },
      "database-url": { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  return {
    seconds: numberOf("seconds", values.seconds, 0.3),
    rounds: Math.round(numberOf("rounds", values.rounds, 1)),
    only: values.only,
    items: Math.round(numberOf("items", values.items, 1_000)),
    many: Math.round(numberOf("many", values.many, 2_000)),
    json: values.json ?? null,
    databaseUrl: values["database-url"] ?? null,
  };
}

function numberOf(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least) return value;
  throw new Error(`--${name} is "${text}": a number of at least ${least} is needed`);
}
