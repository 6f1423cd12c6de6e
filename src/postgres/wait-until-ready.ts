import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Exit, GuardedProcess } from "./guarded-process.ts";
import { pollUntil } from "./poll-until.ts";

/** Recovery after a crash replays up to `max_wal_size` of log, which a slow disk does in well under a minute. */
export const START_TIMEOUT_MS = 180_000;
const SAY_STILL_STARTING_EVERY_MS = 5_000;

export type Start =
  | { readonly kind: "ready" }
  | { readonly kind: "ended"; readonly exit: Exit }
  | { readonly kind: "late" };

/** Waits until the server accepts connections, or has ended, or has taken far too long. */
export async function waitUntilReady(
  server: GuardedProcess,
  cluster: string,
  log: (message: string, fields?: object) => void,
): Promise<Start> {
  const seen: { exit: Exit | null } = { exit: null };
  server.exited.then((exit) => {
    seen.exit = exit;
  });
  const saying = setInterval(() => {
    log("PostgreSQL is still starting; after a crash it first repairs its data", { pid: server.pid });
  }, SAY_STILL_STARTING_EVERY_MS);
  try {
    const isDecided = async () => seen.exit !== null || (await isReady(server.pid, cluster));
    const inTime = await pollUntil(isDecided, { withinMs: START_TIMEOUT_MS, everyMs: 10 });
    if (seen.exit !== null) return { kind: "ended", exit: seen.exit };
    return { kind: inTime ? "ready" : "late" };
  } finally {
    clearInterval(saying);
  }
}

/**
 * As pg_ctl does it: the server tells its state on the eighth line of its pid file. Connecting to try would fill
 * its log with refusals, and could reach somebody else's server.
 */
async function isReady(pid: number, cluster: string): Promise<boolean> {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
}
