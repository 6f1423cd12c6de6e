/** The figures as a table, and what they say of the targets. */

import { cpus, loadavg } from "node:os";
import { columns } from "../claims/report.ts";
import type { Answers } from "./questions.ts";

export interface Measured {
  readonly items: number;
  readonly distribution: "typical" | "adverse" | "upkeep";
  readonly answers: readonly Answers[];
}

export interface Report {
  readonly postgres: string;
  readonly node: string;
  readonly cpus: number;
  readonly load: number;
  readonly measured: readonly Measured[];
  readonly verdicts: readonly Verdict[];
}

interface Verdict {
  readonly target: string;
  readonly wanted: string;
  readonly found: string;
  readonly met: boolean;
}

/** The size that the target of the naive way speaks of. */
const NAIVE_AT = 100_000;
/** 5 ms of the 3.2 s that the naive way took on the machine that the target was set on. */
const PAGE_FASTER = 640;

export function report(postgres: string, measured: readonly Measured[]): Report {
  const [load = 0] = loadavg();
  return {
    postgres,
    node: process.version,
    cpus: cpus().length,
    load,
    measured,
    verdicts: verdictsOf(measured),
  };
}

function verdictsOf(measured: readonly Measured[]): Verdict[] {
  return measured.flatMap(({ items, distribution, answers }) => {
    const find = (what: string): Answers | undefined => answers.find((answer) => answer.what === what);
    const at = `${items} items, ${distribution}`;
    const [asked, page, naive] = [find("ready query"), find("GET ready?limit=20"), find("page by page")];
    const under = (target: string, most: number, found: number | undefined): Verdict[] =>
      found === undefined
        ? []
        : [
            {
              target: `${at}: ${target}`,
              wanted: `under ${most} ms`,
              found: `${found.toFixed(2)} ms`,
              met: found < most,
            },
          ];
    const timesFaster = (target: string, least: number, found: Answers | undefined): Verdict[] => {
      if (!found || !naive || items !== NAIVE_AT) return [];
      const ratio = naive.p50 / found.p50;
      return [
        {
          target: `${at}: the naive way, of ${target}`,
          wanted: `at least ${least} times`,
          found: ratio.toFixed(0),
          met: ratio >= least,
        },
      ];
    };
    return [
      ...under("ready query, p50", 0.5, asked?.p50),
      ...under("ready query, p99", 2, asked?.p99),
      ...under("GET ready?limit=20, p50", 5, page?.p50),
      ...timesFaster("the ready query", 1000, asked),
      ...timesFaster("GET ready?limit=20", PAGE_FASTER, page),
    ];
  });
}

export function asTable({ measured, verdicts, ...about }: Report): string {
  const rows = measured.flatMap(({ items, distribution, answers }) =>
    answers.map(({ what, p50, p99, calls }) => [
      String(items),
      distribution,
      what,
      p50.toFixed(2),
      p99.toFixed(2),
      String(calls),
    ]),
  );
  return [
    `PostgreSQL ${about.postgres}, node ${about.node}, ${about.cpus} processors, load ${about.load.toFixed(1)}`,
    "",
    columns([["items", "backlog", "what", "p50 ms", "p99 ms", "calls"], ...rows]),
    "",
    columns([
      ["target", "wanted", "found", ""],
      ...verdicts.map(({ target, wanted, found, met }) => [target, wanted, found, met ? "met" : "MISSED"]),
    ]),
  ].join("\n");
}
