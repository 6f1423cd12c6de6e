import { setTimeout as delay } from "node:timers/promises";
import { EmbeddedPostgresError } from "./embedded-error.ts";
import type { Exit, GuardedProcess } from "./guarded-process.ts";

/** How long sessions get to finish on SIGINT, and then on SIGQUIT. */
const STOP_TIMEOUT_MS = 10_000;

/** Stops PostgreSQL: SIGINT is its fast shutdown, clean and without waiting for clients; SIGQUIT the last resort. */
export async function stopProcess(server: GuardedProcess): Promise<void> {
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    server.kill(signal);
    if (await endsWithin(server.exited, STOP_TIMEOUT_MS)) return;
  }
  throw new EmbeddedPostgresError(
    "stop_failed",
    `PostgreSQL (pid ${server.pid}) did not stop. Its data is safe; the next start waits for it or stops it.`,
  );
}

async function endsWithin(exited: Promise<Exit>, ms: number): Promise<boolean> {
  const timeout = new AbortController();
  const late = delay(ms, false, { signal: timeout.signal }).catch(() => false);
  const ended = await Promise.race([exited.then(() => true), late]);
  timeout.abort();
  return ended;
}
