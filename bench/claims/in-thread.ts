/** Starts the callers over HTTP in their thread. */

import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { HttpLoad } from "./http-worker.ts";
import type { Slice } from "./measure.ts";

export function inThread(load: HttpLoad): Promise<Slice> {
  const worker = new Worker(join(import.meta.dirname, "http-worker.ts"), { workerData: load });
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}
