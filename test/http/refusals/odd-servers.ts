/** Servers in states that a running program is in for moments only. */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "../../../src/edges/http/server.ts";
import { SetupSessions } from "../../../src/edges/http/setup-session.ts";
import type { Deps } from "../../../src/services/deps.ts";
import { KnownNames } from "../../../src/services/known-names.ts";
import { Metrics } from "../../../src/services/metrics.ts";
import { Setup } from "../../../src/services/setup.ts";
import { openDatabase } from "../../../src/store/database.ts";
import type { Repository } from "../../../src/store/repositories.ts";
import { ADMIN_TOKEN, type World } from "../../harness/world.ts";

export interface OddServer {
  readonly address: string;
  close(): Promise<void>;
}

async function serve(world: World, change: Partial<Deps>, close: () => Promise<void>): Promise<OddServer> {
  // Metrics are registered once a server.
  const deps = { ...world.app.deps, metrics: new Metrics(), ...change };
  const setup = new Setup({ github: deps.github, log: deps.log, envFile: join(tmpdir(), "no-such.env") });
  const app = await createServer(deps, {
    adminToken: ADMIN_TOKEN,
    setup,
    setupSessions: new SetupSessions(),
    requestsPerSecond: 0,
  });
  const address = await app.listen({ port: 0, host: "127.0.0.1" });
  return {
    address,
    close: async () => {
      await app.close();
      await close();
    },
  };
}

/** Nobody answers at its database's address. */
export async function awayServer(world: World): Promise<OddServer> {
  const database = openDatabase("postgres://nobody@127.0.0.1:9/nothing", 2, () => {});
  return serve(world, { database, db: database.db, names: new KnownNames() }, () => database.close());
}

/** It still takes the repository for one that lives only here, whose place GitHub's has taken a moment ago. */
export async function movedServer(world: World): Promise<OddServer> {
  const names = new KnownNames();
  const known = world.app.deps.names;
  const moved = async (...[db, name]: Parameters<KnownNames["find"]>): Promise<Repository | null> => {
    const found = await known.find(db, name);
    return found && { ...found, id: -999 };
  };
  Object.defineProperty(names, "find", { value: moved });
  return serve(world, { names }, async () => {});
}
