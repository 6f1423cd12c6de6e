/** The figures as a table and as JSON, and what they say of the targets. */

import { cpus, loadavg } from "node:os";
import type { HotItemFacts } from "./hot-item.ts";
import { median, percentile, type Slice, type Subject } from "./measure.ts";
import { BEHIND_HTTP } from "./reference.ts";

/** What the target of 0.6 ms is of the 0.26 ms that the same call behind node http took on the machine it was set on. */
const BEHIND_HTTP_MOST = 2.3;

export interface Figure {
  readonly group: string;
  readonly name: string;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number | null;
  readonly p99: number | null;
  /** The slices' throughput: how far they differ says how quiet the machine was. */
  readonly slices: readonly number[];
  /** Against the reference with sixteen clients, measured in the same rounds. */
  readonly ofReference: number | null;
}

export interface Verdict {
  readonly target: string;
  readonly wanted: string;
  readonly found: string | null;
  readonly met: boolean | null;
}

export interface Report {
  readonly postgres: string;
  readonly reference: string;
  readonly node: string;
  readonly cpus: number;
  /** Of the last minute, at the end: above the number of processors the machine was not ours alone. */
  readonly load: number;
  readonly figures: readonly Figure[];
  readonly hotItem: readonly HotItemFacts[];
  readonly verdicts: readonly Verdict[];
}

export const REFERENCE = "full claim, 16";

export function report(
  about: { postgres: string; reference: string },
  measured: ReadonlyMap<Subject, readonly Slice[]>,
  hotItem: readonly HotItemFacts[],
): Report {
  const reference = [...measured].find(([{ name }]) => name === REFERENCE)?.[1] ?? [];
  const figures = [...measured].map(([{ group, name }, slices]): Figure => {
    const latencies = slices.flatMap((slice) => slice.latencies);
    const ratios = slices.map(
      (slice, round) => slice.perSecond / (reference[round]?.perSecond ?? Number.NaN),
    );
    const ratio = median(ratios);
    return {
      group,
      name,
      perSecond: median(slices.map((slice) => slice.perSecond)),
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
      slices: slices.map((slice) => Math.round(slice.perSecond)),
      ofReference: Number.isNaN(ratio) ? null : ratio,
    };
  });
  const [load = 0] = loadavg();
  return {
    ...about,
    node: process.version,
    cpus: cpus().length,
    load,
    figures,
    hotItem,
    verdicts: verdictsOf(figures, hotItem),
  };
}

/** The targets of the issue, as ratios within the run. */
function verdictsOf(figures: readonly Figure[], hotItem: readonly HotItemFacts[]): Verdict[] {
  const find = (group: string, name: string): Figure | undefined =>
    figures.find((figure) => figure.group === group && figure.name === name);
  const atLeast = (target: string, least: number, value: number | null | undefined): Verdict => ({
    target,
    wanted: `at least ${least}`,
    found: value == null ? null : value.toFixed(2),
    met: value == null ? null : value >= least,
  });
  const over = (one: Figure | undefined, other: Figure | undefined): number | null =>
    one && other ? one.perSecond / other.perSecond : null;
  const alone = find("http", "claim, 1")?.p50 ?? null;
  const bare = find("reference", BEHIND_HTTP)?.p50 ?? null;
  const slower = alone === null || bare === null ? null : alone / bare;
  const pair = find("in process", "claim+release, 16");
  const [small, large, plainSmall, plainLarge] = figures.filter(({ group }) => group === "sizes");
  const size = over(large, small);
  const plainSize = over(plainLarge, plainSmall);
  const losers = hotItem.map(({ tokens, grants, mostHolders }) => tokens === grants && mostHolders <= 1);
  return [
    atLeast("claim in process, 16, of the reference", 0.7, find("in process", "claim, 16")?.ofReference),
    atLeast("claim over HTTP, 50, of the reference", 0.45, find("http", "claim, 50")?.ofReference),
    {
      target: "claim over HTTP, 1: p50",
      wanted: "under 0.6 ms",
      found: alone === null ? null : `${alone.toFixed(2)} ms${beside(bare, " ms")}`,
      met: alone === null ? null : alone < 0.6,
    },
    {
      target: "the same, of the reference behind node http",
      wanted: `at most ${BEHIND_HTTP_MOST}`,
      found: slower === null ? null : slower.toFixed(2),
      met: slower === null ? null : slower <= BEHIND_HTTP_MOST,
    },
    atLeast(
      "claim+release, of graphile-worker at 24",
      1.3,
      over(pair, find("graphile-worker", "single jobs, 24 at once")),
    ),
    atLeast("claim+release, of pg-boss", 3, over(pair, find("pg-boss", "fetch and complete, 16"))),
    atLeast(
      "refusal in process, 16, of a grant",
      2,
      over(find("in process", "refusal, 16"), find("in process", "claim, 16")),
    ),
    {
      target: "16 racers on one item",
      wanted: "one grant and one token per lease",
      found: losers.length === 0 ? null : losers.every(Boolean) ? "so it was" : "more",
      met: losers.length === 0 ? null : losers.every(Boolean),
    },
    {
      target: "claims among many items, of those among few",
      wanted: "within 10 %",
      found: size === null ? null : `${size.toFixed(2)}${beside(plainSize, "")}`,
      met: size === null ? null : Math.abs(size - 1) <= 0.1,
    },
    atLeast(
      "the same, of what the size does to the reference",
      0.9,
      size === null || plainSize === null ? null : size / plainSize,
    ),
  ];
}

/** What the same costs without Leasehold's rules. */
const beside = (value: number | null, unit: string): string =>
  value === null ? "" : ` (the reference ${value.toFixed(2)}${unit})`;

const number = (value: number | null, digits: number): string =>
  value === null ? "-" : value.toFixed(digits);

export function asTable({ figures, verdicts, hotItem, ...about }: Report): string {
  const rows = figures.map((figure) => [
    figure.group,
    figure.name,
    figure.perSecond.toFixed(0),
    number(figure.p50, 2),
    number(figure.p99, 2),
    number(figure.ofReference, 2),
  ]);
  const marks = verdicts.map(({ target, wanted, found, met }) => [
    target,
    wanted,
    found ?? "-",
    met === null ? "not measured" : met ? "met" : "MISSED",
  ]);
  return [
    `PostgreSQL ${about.postgres}, node ${about.node}, ${about.cpus} processors, load ${about.load.toFixed(1)}`,
    `reference: ${about.reference}`,
    "",
    columns([["group", "what", "per second", "p50 ms", "p99 ms", "of reference"], ...rows]),
    "",
    columns([["target", "wanted", "found", ""], ...marks]),
    ...hotItem.map((facts) => `\nhot item: ${JSON.stringify(facts)}`),
  ].join("\n");
}

/** Rows of text, in columns. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
