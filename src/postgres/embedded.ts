import { resolve } from "node:path";
import { prepareBinaries } from "./binaries.ts";
import { DATABASE, ensureCluster } from "./cluster.ts";
import { adoptFolder } from "./data-folder.ts";
import { ensureDatabase } from "./database.ts";
import { asStartFailure } from "./embedded-error.ts";
import { claimFolder, type FolderClaim } from "./folder-claim.ts";
import type { Exit } from "./guarded-process.ts";
import { findHome, type Home } from "./home.ts";
import { clearLeftovers } from "./leftovers.ts";
import { readPassword } from "./password.ts";
import { type Server, startServer } from "./server.ts";

export { EmbeddedPostgresError } from "./embedded-error.ts";

export interface EmbeddedOptions {
  /** The folder that holds everything, such as `.data/postgres`; made if it is missing. */
  readonly dataDir: string;
  /** On 127.0.0.1; a free one unless given. */
  readonly port?: number;
  /** PostgreSQL settings on top of ours; tests pass `{ fsync: "off" }`. */
  readonly settings?: Record<string, string>;
  readonly log: (message: string, fields?: object) => void;
}

/** A real PostgreSQL of our own, which ends with this process whatever becomes of it. */
export interface EmbeddedPostgres {
  /** `postgres://leasehold:…@127.0.0.1:…/leasehold`. Holds the password: not for logs. */
  readonly url: string;
  readonly dataDir: string;
  readonly port: number;
  /** Resolves when PostgreSQL has ended, by itself or after `stop`, and the folder is free again. */
  readonly exited: Promise<Exit>;
  /** Ends all sessions and shuts down cleanly. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL on the data in a folder, making both on the first call.
 *
 *     const postgres = await startEmbeddedPostgres({ dataDir: ".data/postgres", log: console.log });
 *     const pool = new pg.Pool({ connectionString: postgres.url });
 *     …
 *     await pool.end();
 *     await postgres.stop();
 *
 * Rejects with an `EmbeddedPostgresError` whose code says why. It is safe to call after any kind of death of the
 * run before: what that one left is stopped, recovered or made anew, and committed data is never lost.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const began = performance.now();
  try {
    const dataDir = await adoptFolder(resolve(options.dataDir));
    const home = await findHome(dataDir);
    if (home.folder !== dataDir)
      options.log("the database is kept elsewhere", { dataDir, folder: home.folder });
    const claim = await claimFolder(home.folder);
    const { server, password } = await startIn(home, options).catch(async (error: unknown) => {
      await claim.release();
      throw error;
    });
    const { pid, port } = server;
    options.log("PostgreSQL is ready", { pid, port, ms: Math.round(performance.now() - began) });
    return toEmbedded(server, claim, dataDir, password);
  } catch (error) {
    throw asStartFailure(error);
  }
}

async function startIn(
  home: Home,
  { port, settings = {}, log }: EmbeddedOptions,
): Promise<{ server: Server; password: string }> {
  const binaries = await prepareBinaries(home.user, log);
  await clearLeftovers(home.cluster, log);
  await ensureCluster(home, binaries, { sync: settings.fsync !== "off", log });
  const password = await readPassword(home.folder);
  const server = await startServer({ home, binaries, port, settings, log });
  try {
    await ensureDatabase(home.folder, server.port, password);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { server, password };
}

function toEmbedded(server: Server, claim: FolderClaim, dataDir: string, password: string): EmbeddedPostgres {
  // Whatever ends the server frees the folder, so that a supervisor can start it again.
  const exited = server.exited.then(async (exit) => {
    await claim.release();
    return exit;
  });
  return {
    url: `postgres://${DATABASE}:${password}@127.0.0.1:${server.port}/${DATABASE}`,
    dataDir,
    port: server.port,
    exited,
    stop: async () => {
      await server.stop();
      await exited;
    },
  };
}
