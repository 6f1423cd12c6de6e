/** Leasehold itself: the whole program is started, and asked through its services and over HTTP. */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, startApp } from "../../src/app.ts";
import { createLog } from "../../src/log.ts";
import { inThread } from "./in-thread.ts";
import { measure, type Subject } from "./measure.ts";
import { PROGRAMS, type ProgramName, program } from "./programs.ts";
import { serviceClient } from "./service-client.ts";
import { clearClaims } from "./stage.ts";

export const TOKEN = "the-bench-measures-claims-with-this";
const CALLERS = [1, 16, 50];

/** Without a GitHub App: markers are promised as ever, and nobody posts them. */
export const startLeasehold = (databaseUrl: string): Promise<App> =>
  startApp({
    config: {
      host: "127.0.0.1",
      port: 0,
      databaseUrl,
      dataDir: tmpdir(),
      envFile: join(tmpdir(), "leasehold-bench.env"),
      app: null,
      githubApiUrl: "http://127.0.0.1:9",
      adminToken: TOKEN,
      region: "local",
      defaultLeaseSeconds: 30,
      maxLeaseSeconds: 1800,
      sweepSeconds: 86_400,
      reconcileSeconds: 86_400,
      requestsPerSecond: 0,
      oidc: { issuer: "http://127.0.0.1:9", audience: "leasehold" },
      logLevel: "error",
      prettyLogs: false,
    },
    databaseUrl,
    adminToken: TOKEN,
    version: "bench",
    log: createLog({ level: "error", pretty: false }),
  });

/** Every program, by one, sixteen and fifty callers, in process and over HTTP. */
export function leasehold(app: App, url: string, items: number): Subject[] {
  const client = serviceClient(app.deps);
  const inProcess = (name: ProgramName, callers: number): Subject => ({
    group: "in process",
    name: `${name}, ${callers}`,
    slice: async (seconds) => {
      await clearClaims(url);
      return measure(callers, seconds, await program(name, client, callers, items));
    },
  });
  const overHttp = (name: ProgramName, callers: number): Subject => ({
    group: "http",
    name: `${name}, ${callers}`,
    slice: async (seconds) => {
      await clearClaims(url);
      return inThread({ address: app.address, token: TOKEN, program: name, callers, items, seconds });
    },
  });
  return PROGRAMS.flatMap((name) =>
    CALLERS.flatMap((callers) => [inProcess(name, callers), overHttp(name, callers)]),
  );
}
