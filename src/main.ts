/** `npm start`: configuration, database, migrations, server; and on SIGTERM or ^C the way back. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { adminToken } from "./admin-token.ts";
import { startApp } from "./app.ts";
import { ConfigError, loadConfig } from "./config.ts";
import { createLog } from "./log.ts";
import { type EmbeddedPostgres, EmbeddedPostgresError, startEmbeddedPostgres } from "./postgres/embedded.ts";
import { startMessage } from "./start-message.ts";
import { isConnectionLost } from "./store/failure.ts";

/** Whatever hangs, the process is gone by then: SIGTERM promises ten seconds. */
const EXIT_MS = 9_500;

async function main(): Promise<void> {
  const config = loadConfig();
  const log = createLog({ level: config.logLevel, pretty: config.prettyLogs });
  outliveLostConnections(log);
  const { version } = JSON.parse(await readFile(join(import.meta.dirname, "../package.json"), "utf8")) as {
    version: string;
  };
  const admin = await adminToken(config.adminToken, config.dataDir);
  let postgres: EmbeddedPostgres | null = null;
  if (config.databaseUrl === null) {
    postgres = await startEmbeddedPostgres({
      dataDir: join(config.dataDir, "postgres"),
      log: (message, fields) => log.info(fields ?? {}, message),
    });
  }
  try {
    const databaseUrl = config.databaseUrl ?? postgres?.url ?? "";
    const app = await startApp({ config, databaseUrl, adminToken: admin.token, version, log });
    const { address, setupLink } = app;
    process.stdout.write(startMessage({ address, setupLink, admin, config, color: config.prettyLogs }));
    await stopRequested(postgres);
    log.info("stopping");
    setTimeout(() => process.exit(1), EXIT_MS).unref();
    await app.stop();
  } finally {
    await postgres?.stop();
  }
}

/**
 * graphile-worker lets a lost connection escape when it reports finished jobs. Its jobs are hints, so nothing is lost,
 * and PostgreSQL restarting must not end the server. Anything else that escapes is a fault, and ends it.
 */
function outliveLostConnections(log: Logger): void {
  process.on("unhandledRejection", (error) => {
    if (!isConnectionLost(error)) throw error;
    log.warn({ reason: (error as Error).message }, "a database connection was lost");
  });
}

/** Resolves on SIGTERM or SIGINT; throws when the embedded database ends by itself. */
async function stopRequested(postgres: EmbeddedPostgres | null): Promise<void> {
  const signal = new Promise<void>((resolve) => {
    process.once("SIGTERM", () => resolve());
    process.once("SIGINT", () => resolve());
  });
  const died = postgres?.exited.then(() => {
    throw new Error("the embedded PostgreSQL ended by itself; its log lies beside its data");
  });
  await (died ? Promise.race([signal, died]) : signal);
}

/** What the operating system or PostgreSQL said, and what to do about it; null when it is something else. */
function causeOf(error: unknown): string | null {
  const { code, port, address, syscall, message } = error as NodeJS.ErrnoException & {
    port?: number;
    address?: string;
  };
  if (syscall === "listen") {
    if (code === "EADDRINUSE")
      return `Port ${port} is taken: stop what listens there, or set PORT to another one.`;
    if (code === "EACCES") return `Port ${port} needs more rights: set PORT to one above 1023.`;
    return `Leasehold cannot listen on ${address ?? "HOST"} (${code}): set HOST to an address of this machine.`;
  }
  // 28: password or user; 3D: no such database; 08 and the network's own: not reachable.
  if (/^(28...|3D...|08...|57P03|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET)$/.test(code ?? "")) {
    return `PostgreSQL cannot be reached (${message || code}): check DATABASE_URL, or unset it to use the embedded one.`;
  }
  if (code === "25006") {
    return `PostgreSQL accepts no writes (${message}): point DATABASE_URL at the primary, not at a standby.`;
  }
  if (/^(ENOTDIR|EEXIST|EACCES|EPERM|EROFS|ENOENT)$/.test(code ?? "")) {
    return `${message}: set DATA_DIR to a folder that this user may write to.`;
  }
  return null;
}

/** What went wrong, for a person, without a stack where the cause is known. */
function complain(error: unknown): void {
  const known = error instanceof ConfigError || error instanceof EmbeddedPostgresError;
  const cause = causeOf(error);
  if (cause !== null) process.stderr.write(`${cause}\n`);
  else if (known) process.stderr.write(`${error.message}\n`);
  else process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
  // Whatever still runs serves nobody, and who watches the process must see that it ended.
  setTimeout(() => process.exit(), EXIT_MS).unref();
}

await main().catch(complain);
