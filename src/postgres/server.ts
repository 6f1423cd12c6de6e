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
import { stopProcess } from "./stop-process.ts";
import { START_TIMEOUT_MS, waitUntilReady } from "./wait-until-ready.ts";

/** For free ports that somebody else was quicker to take, and for old servers that are slow to go. */
const ATTEMPTS = 8;

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
    if (reason === "unknown" || attempt === ATTEMPTS) {
      throw startFailed(options.home, outcome.how, outcome.logTail);
    }
    if (reason === "cluster_busy") {
      await delay(250);
      await clearLeftovers(options.home.cluster, options.log);
    }
  }
}

type Outcome =
  | { readonly kind: "ready"; readonly process: GuardedProcess }
  | { readonly kind: "failed"; readonly how: string; readonly logTail: string };

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
  const start = await waitUntilReady(server, home.cluster, log);
  if (start.kind === "ready") return { kind: "ready", process: server };
  if (start.kind === "late") await stopProcess(server);
  const how =
    start.kind === "late"
      ? `was not ready after ${START_TIMEOUT_MS / 1000} seconds and was stopped`
      : `ended while starting (${start.exit.signal ?? `exit code ${start.exit.code}`})`;
  return { kind: "failed", how, logTail: await readLogTail(logPath) };
}

function toServer(process: GuardedProcess, port: number): Server {
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= stopProcess(process);
    return stopping;
  };
  return { pid: process.pid, port, exited: process.exited, stop };
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

function startFailed(home: Home, how: string, logTail: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "start_failed",
    `PostgreSQL ${how}. The end of ${serverLogPath(home)}:\n${logTail}`,
  );
}
