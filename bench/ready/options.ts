/** The options of `npm run bench:ready -- …`. */

import { parseArgs } from "node:util";

export interface Options {
  readonly sizes: readonly number[];
  /** How long each figure is measured, over all rounds. */
  readonly seconds: number;
  readonly rounds: number;
  /** Above so many items the naive way is left out. */
  readonly naiveUpTo: number;
  readonly json: string | null;
  readonly databaseUrl: string | null;
}

export const HELP = `npm run bench:ready -- [options]
  --sizes A,B,C      items in the backlog (1000,10000,100000,1000000)
  --seconds N        how long each figure is measured (4)
  --rounds N         in how many slices, alternating with the others (2)
  --naive-up-to N    the way page by page is measured up to this size (100000)
  --json FILE        write the figures as JSON too
  --database-url U   use this PostgreSQL; a superuser is needed to fill it quickly
`;

/** Reads the options. Throws an `Error` that says which is wrong. */
export function readOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sizes: { type: "string", default: "1000,10000,100000,1000000" },
      seconds: { type: "string", default: "4" },
      rounds: { type: "string", default: "2" },
      "naive-up-to": { type: "string", default: "100000" },
      json: { type: "string" },
      "database-url": { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  return {
    sizes: values.sizes.split(",").map((size) => Math.round(numberOf("sizes", size, 1_000))),
    seconds: numberOf("seconds", values.seconds, 0.3),
    rounds: Math.round(numberOf("rounds", values.rounds, 1)),
    naiveUpTo: numberOf("naive-up-to", values["naive-up-to"], 0),
    json: values.json ?? null,
    databaseUrl: values["database-url"] ?? null,
  };
}

function numberOf(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least) return value;
  throw new Error(`--${name} is "${text}": a number of at least ${least} is needed`);
}
