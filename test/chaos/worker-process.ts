/**
 * A worker as a process of its own, to be stopped and killed. It tells of each request before it sends it, in
 * writes that are over when they return, so that nothing it did is unknown when it is killed. SIGTERM ends its day.
 */

import { writeSync } from "node:fs";
import type { Opened } from "./ask.ts";
import type { Exchange } from "./history.ts";
import { type WorkerPlan, work } from "./worker.ts";

export type WorkerLine = { readonly begun: Opened } | { readonly ended: Exchange };

const say = (line: WorkerLine): void => {
  writeSync(1, `${JSON.stringify(line)}\n`);
};

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
const plan = JSON.parse(process.argv[2] ?? "") as WorkerPlan;
await work(plan, { begin: (begun) => say({ begun }), end: (ended) => say({ ended }) }, stopping.signal);
// Idle connections would keep it.
process.exit(0);
