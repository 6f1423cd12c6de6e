/** `npm run bench:memory`: what searching, scanning and recalling memory cost over HTTP, among very many records. */

import { parseArgs } from "node:util";
import { startLeasehold, TOKEN } from "../claims/leasehold.ts";
import { percentile } from "../claims/measure.ts";
import { setStage } from "../claims/stage.ts";
import { fillMemory, TOPICS } from "./fill.ts";
import { QUERIES } from "./queries.ts";

const HELP = `npm run bench:memory -- [options]
  --records N        records in memory (100000)
  --seconds N        how long each figure is measured (4)
  --callers N        how many ask at once (1)
  --database-url U   use this PostgreSQL; a superuser is needed to fill it quickly
`;

const { values } = parseArgs({
  options: {
    records: { type: "string", default: "100000" },
    seconds: { type: "string", default: "4" },
    callers: { type: "string", default: "1" },
    "database-url": { type: "string" },
    help: { type: "boolean", default: false },
  },
});
async function bench(): Promise<void> {
  const [records, seconds, callers] = [values.records, values.seconds, values.callers].map(Number);
  if (!records || !seconds || !callers || records < 1000) throw new Error(`a number is wrong\n${HELP}`);
  const stage = await setStage(values["database-url"] ?? null);
  try {
    const url = await stage.backlog("memory", 1_000);
    process.stderr.write(`PostgreSQL ${stage.version}; filling ${records} records\n`);
    await fillMemory(url, records);
    const app = await startLeasehold(url);
    try {
      const id = () => Math.floor(Math.random() * records) + 1;
      const paths: [string, () => string][] = [
        ...QUERIES.map(([name, query]): [string, () => string] => [
          `search: ${name}`,
          () => `/memory-search?q=${encodeURIComponent(query(id()))}`,
        ]),
        ["scan, a page of 50", () => `/memory/${TOPICS[id() % TOPICS.length]}?limit=50`],
        ["recall", () => recallPath(id())],
        ["topics", () => "/memory"],
        [
          "neighbors, 2 steps",
          () => `/neighbors?depth=2&key=mem/${recallPath(id()).slice("/memory/".length)}`,
        ],
      ];
      process.stdout.write("| | p50 ms | p99 ms | per second |\n|---|---|---|---|\n");
      for (const [name, path] of paths) {
        const latencies = await measure(
          `${app.address}/api/v1/repos/acme/widgets`,
          TOKEN,
          path,
          seconds,
          callers,
        );
        const figures = [percentile(latencies, 0.5), percentile(latencies, 0.99), latencies.length / seconds];
        process.stdout.write(
          `| ${name} | ${figures.map((figure) => (figure ?? Number.NaN).toFixed(1)).join(" | ")} |\n`,
        );
      }
    } finally {
      await app.stop();
    }
  } finally {
    await stage.end();
  }
}

const recallPath = (n: number): string => `/memory/${TOPICS[n % TOPICS.length]}/r-${n}`;

/** The first half second, when plans are made and pages are read in, does not count. */
async function measure(
  base: string,
  token: string,
  path: () => string,
  seconds: number,
  callers: number,
): Promise<number[]> {
  const begin = performance.now() + 500;
  const end = begin + seconds * 1000;
  const latencies: number[] = [];
  const caller = async (): Promise<void> => {
    while (performance.now() < end) {
      const before = performance.now();
      const answer = await fetch(base + path(), { headers: { authorization: `Bearer ${token}` } });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${text.slice(0, 300)}`);
      if (before >= begin) latencies.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return latencies;
}

if (values.help) process.stdout.write(HELP);
else await bench();
