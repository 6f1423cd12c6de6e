/** The whole program with a GitHub App, on the database of a bench. */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, startApp } from "../../src/app.ts";
import { createLog } from "../../src/log.ts";

export interface GitHubOfBench {
  readonly appId: number;
  readonly privateKey: string;
  readonly secret: string;
  readonly githubApiUrl: string;
}

const NEVER_SECONDS = 30 * 86_400;

export function startLeasehold(databaseUrl: string, github: GitHubOfBench): Promise<App> {
  const adminToken = "the-bench-measures-with-this-token";
  return startApp({
    config: {
      host: "127.0.0.1",
      port: 0,
      databaseUrl,
      dataDir: tmpdir(),
      envFile: join(tmpdir(), "leasehold-bench.env"),
      app: { appId: github.appId, privateKey: github.privateKey, webhookSecrets: [github.secret] },
      githubApiUrl: github.githubApiUrl,
      adminToken,
      region: "local",
      defaultLeaseSeconds: 30,
      maxLeaseSeconds: 1800,
      sweepSeconds: NEVER_SECONDS,
      reconcileSeconds: NEVER_SECONDS,
      requestsPerSecond: 0,
      oidc: { issuer: "http://127.0.0.1:9", audience: "leasehold" },
      logLevel: "error",
      prettyLogs: false,
    },
    databaseUrl,
    adminToken,
    version: "bench",
    log: createLog({ level: "error", pretty: false }),
  });
}
