/** `npm run bench:events`: many streams on one process: what they cost, and how soon an event reaches all of them. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ServerProcess } from "../../test/chaos/server-process.ts";
import { ApiClient } from "../../test/harness/api-client.ts";
import { setStage } from "../claims/stage.ts";
import { Followers } from "./followers.ts";

const TOKEN = "lh_bench_events_admin_token_0123456789";
const REPOSITORY = "acme/widgets";
const HELP = `npm run bench:events -- [options]
  --streams N        streams on the one process (1000)
  --seconds N        how long each phase lasts (10)
  --json FILE        write the figures as JSON too
  --database-url U   use this PostgreSQL in place of one of its own
`;

interface Phase {
  readonly name: string;
  readonly claimsPerSecond: number;
}
const PHASES: readonly Phase[] = [
  { name: "now and then", claimsPerSecond: 4 },
  { name: "busy", claimsPerSecond: 20 },
];

interface Figures {
  readonly phase: string;
  readonly events: number;
  readonly deliveries: number;
  readonly missing: number;
  /** From the request to its own answer: what the machine makes of one claim at that time. */
  readonly claimP50Ms: number;
  /** Processor time of the process for each event, all its streams and the claim itself included. */
  readonly cpuMsPerEvent: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

interface Report {
  readonly postgres: string;
  readonly streams: number;
  readonly residentMiB: { readonly before: number; readonly open: number; readonly after: number };
  readonly phases: readonly Figures[];
}

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "1000" },
    seconds: { type: "string", default: "10" },
    json: { type: "string" },
    "database-url": { type: "string" },
    help: { type: "boolean", default: false },
  },
});

async function bench(streams: number, seconds: number, databaseUrl: string | null): Promise<Report> {
  const stage = await setStage(databaseUrl);
  const folder = await mkdtemp(join(tmpdir(), "leasehold-bench-events-"));
  try {
    const url = await stage.backlog("events", 5_000);
    const server = await ServerProcess.prepare({
      folder,
      env: {
        HOST: "127.0.0.1",
        DATABASE_URL: url,
        DATA_DIR: folder,
        LEASEHOLD_ADMIN_TOKEN: TOKEN,
        LOG_LEVEL: "warn",
      },
    });
    await server.start();
    try {
      const api = new ApiClient(server.address, TOKEN, REPOSITORY);
      const before = await residentMiB(api);
      const followers = await Followers.open(server.address, TOKEN, streams);
      const open = await residentMiB(api);
      const phases: Figures[] = [];
      let next = 1;
      for (const phase of PHASES) {
        const events = Math.round(phase.claimsPerSecond * seconds);
        phases.push(await measure(api, followers, phase, next, events));
        next += events;
      }
      const after = await residentMiB(api);
      followers.leave();
      return { postgres: stage.version, streams, residentMiB: { before, open, after }, phases };
    } finally {
      await server.stop();
    }
  } finally {
    await stage.end();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Claims items one after the other, and waits until everybody was told of each. From the request to the event. */
async function measure(
  api: ApiClient,
  followers: Followers,
  { name, claimsPerSecond }: Phase,
  first: number,
  events: number,
): Promise<Figures> {
  followers.begin();
  const answered: number[] = [];
  const cpuBefore = await sampleOf(api, "process_cpu_seconds_total");
  const begin = performance.now();
  for (let index = 0; index < events; index += 1) {
    await delay(Math.max(0, begin + (index * 1000) / claimsPerSecond - performance.now()));
    followers.sent(first + index);
    const asked = performance.now();
    const answer = await api.claim(first + index, "bench");
    if (!answer.granted) throw new Error(`item ${first + index} was refused: ${answer.reason}`);
    answered.push(performance.now() - asked);
  }
  const wanted = events * followers.count;
  const until = performance.now() + 10_000;
  while (followers.latencies.length < wanted && performance.now() < until) await delay(20);
  const cpuAfter = await sampleOf(api, "process_cpu_seconds_total");
  const sorted = Float64Array.from(followers.latencies).sort();
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    phase: `${name} (${claimsPerSecond} claims a second)`,
    events,
    deliveries: sorted.length,
    missing: wanted - sorted.length,
    claimP50Ms: answered.sort((a, b) => a - b)[Math.floor(answered.length / 2)] ?? 0,
    cpuMsPerEvent: ((cpuAfter - cpuBefore) * 1000) / events,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: sorted.at(-1) ?? 0,
  };
}

const residentMiB = async (api: ApiClient): Promise<number> =>
  (await sampleOf(api, "process_resident_memory_bytes")) / 1024 / 1024;

/** What the server tells of itself. */
async function sampleOf(api: ApiClient, name: string): Promise<number> {
  const { body } = await api.send("GET", "/metrics");
  const value = new RegExp(`^${name} (\\S+)$`, "m").exec(String(body))?.[1];
  if (value === undefined) throw new Error(`the server does not tell ${name}`);
  return Number(value);
}

function asTable({ postgres, streams, residentMiB: { before, open, after }, phases }: Report): string {
  const mib = (value: number): string => `${value.toFixed(0)} MiB`;
  return [
    `PostgreSQL ${postgres}, ${streams} streams on one process`,
    `memory of the process: ${mib(before)} before, ${mib(open)} with all streams open, ${mib(after)} afterwards`,
    "",
    "| | events | deliveries | missing | p50 | p99 | max | the claim's own answer, p50 | processor time an event |",
    "|---|---|---|---|---|---|---|---|---|",
    ...phases.map(
      ({ phase, events, deliveries, missing, p50Ms, p99Ms, maxMs, claimP50Ms, cpuMsPerEvent }) =>
        `| ${phase} | ${events} | ${deliveries} | ${missing} | ${p50Ms.toFixed(1)} ms | ${p99Ms.toFixed(1)} ms | ${maxMs.toFixed(1)} ms | ${claimP50Ms.toFixed(1)} ms | ${cpuMsPerEvent.toFixed(1)} ms |`,
    ),
  ].join("\n");
}

if (values.help) {
  process.stdout.write(HELP);
} else {
  const report = await bench(Number(values.streams), Number(values.seconds), values["database-url"] ?? null);
  process.stdout.write(`${asTable(report)}\n`);
  if (values.json) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
}
