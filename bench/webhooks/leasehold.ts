/** The whole program with a GitHub App, whose GitHub is never asked: what the deliveries say calls for no question. */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, startApp } from "../../src/app.ts";
import { createLog } from "../../src/log.ts";
import { SECRET } from "./payload.ts";

const NEVER_SECONDS = 30 * 86_400;

export function startLeasehold(databaseUrl: string, privateKey: string): Promise<App> {
  const adminToken = "the-bench-measures-webhooks-with-this";
  return startApp({
    config: {
      host: "127.0.0.1",
      port: 0,
      databaseUrl,
      dataDir: tmpdir(),
      envFile: join(tmpdir(), "leasehold-bench.env"),
      app: { appId: 1, privateKey, webhookSecrets: [SECRET] },
      githubApiUrl: "http://127.0.0.1:9",
      adminToken,
      region: "local",
      defaultLeaseSeconds: 30,
      maxLeaseSeconds: 1800,
      sweepSeconds: NEVER_SECONDS,
      reconcileSeconds: NEVER_SECONDS,
      logLevel: "error",
      prettyLogs: false,
    },
    databaseUrl,
    adminToken,
    version: "bench",
    log: createLog({ level: "error", pretty: false }),
  });
}
