import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Binaries } from "./binaries.ts";
import { EmbeddedPostgresError } from "./embedded-error.ts";
import { findFreePort, isPortTaken } from "./free-port.ts";
import { type Exit, type GuardedProcess, spawnGuarded } from "./guarded-process.ts";
import type { Home } from "./home.ts";
import { clearLeftovers } from "./leftovers.ts";
import { diagnose, openFreshLog, readLogTail } from "./server-log.ts";
import { serverArguments } from "./settings.ts";

/** Recovery after a crash replays up to `max_wal_size` of log, which a slow disk does in well under a minute. */
const START_TIMEOUT_MS = 180_000;
const SAY_STILL_STARTING_EVERY_MS = 5_000;
const ATTEMPTS = 8;
/** How long sessions get to finish on SIGINT, and then on SIGQUIT. */
const STOP_TIMEOUT_MS = 10_000;

/** A PostgreSQL that accepts connections. */
export interface Server {
  readonly pid: number;
  readonly port: number;
  readonly exited: Promise<Exit>;
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly home: Home;
  readonly binaries: Binaries;
  readonly port: number | undefined;
  readonly settings: Record<string, string>;
  readonly log: (message: string, fields?: object) => void;
}

/** Starts the server on the port asked for, or else on any free one. */
export async function startServer(options: ServerOptions): Promise<Server> {
  if (options.port !== undefined && (await isPortTaken(options.port))) throw portTaken(options.port);
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await findFreePort());
    const outcome = await launch(options, port);
    if (outcome.kind === "ready") return toServer(outcome.process, port);

    const reason = diagnose(outcome.logTail);
    if (reason === "port_taken" && options.port !== undefined) throw portTaken(options.port);
    if (reason === "unknown" || attempt === ATTEMPTS) throw startFailed(options.home, outcome);
    if (reason === "cluster_busy") {
      await delay(250);
      await clearLeftovers(options.home.cluster, options.log);
    }
  }
}

type Outcome =
  | { readonly kind: "ready"; readonly process: GuardedProcess }
  | { readonly kind: "ended"; readonly exit: Exit; readonly logTail: string };

async function launch({ home, binaries, settings, log }: ServerOptions, port: number): Promise<Outcome> {
  const logPath = serverLogPath(home);
  const output = await openFreshLog(logPath);
  let server: GuardedProcess;
  try {
    const args = serverArguments(home.cluster, port, settings);
    server = await spawnGuarded(binaries.postgres, args, { user: home.user, outputFd: output.fd });
  } finally {
    await output.close();
  }
  const exit = await waitUntilReady(server, home, log);
  return exit === null
    ? { kind: "ready", process: server }
    : { kind: "ended", exit, logTail: await readLogTail(logPath) };
}

/** Null when the server is ready, else how it ended. */
async function waitUntilReady(
  server: GuardedProcess,
  home: Home,
  log: ServerOptions["log"],
): Promise<Exit | null> {
  let exit: Exit | null = null;
  server.exited.then((value) => {
    exit = value;
  });
  const began = performance.now();
  let sayAt = began + SAY_STILL_STARTING_EVERY_MS;
  while (exit === null) {
    if (await isReady(server.pid, home.cluster)) return null;
    const now = performance.now();
    if (now > began + START_TIMEOUT_MS) {
      await stopProcess(server);
      throw new EmbeddedPostgresError(
        "start_failed",
        `PostgreSQL was not ready after ${START_TIMEOUT_MS / 1000} seconds and was stopped. ` +
          `The end of ${serverLogPath(home)}:\n${await readLogTail(serverLogPath(home))}`,
      );
    }
    if (now > sayAt) {
      log("PostgreSQL is still starting; after a crash it first repairs its data", { pid: server.pid });
      sayAt = now + SAY_STILL_STARTING_EVERY_MS;
    }
    await delay(10);
  }
  return exit;
}

/** As pg_ctl does it: the server tells its state on the eighth line of its pid file. Connecting to try would fill its log. */
async function isReady(pid: number, cluster: string): Promise<boolean> {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
}

function toServer(process: GuardedProcess, port: number): Server {
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= stopProcess(process);
    return stopping;
  };
  return { pid: process.pid, port, exited: process.exited, stop };
}

async function stopProcess(server: GuardedProcess): Promise<void> {
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

function serverLogPath(home: Home): string {
  return join(home.folder, "postgres.log");
}

function portTaken(port: number): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "port_taken",
    `Port ${port} on 127.0.0.1, asked for the embedded PostgreSQL, is taken by another program. ` +
      "Free it, or leave the port open so that a free one is chosen.",
  );
}

function startFailed(home: Home, { exit, logTail }: Outcome & { kind: "ended" }): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "start_failed",
    `PostgreSQL ended while starting (${exit.signal ?? `exit code ${exit.code}`}). ` +
      `The end of ${serverLogPath(home)}:\n${logTail}`,
  );
}
