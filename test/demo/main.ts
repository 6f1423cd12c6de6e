/**
 * `npm run demo`: the whole story in one terminal, against a stateful fake GitHub over HTTP with signed webhooks.
 * Every line that it tells is checked; if one were not true, the demo fails. `-- --exit` ends it, for CI.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { startApp } from "../../src/app.ts";
import { startEmbeddedPostgres } from "../../src/postgres/embedded.ts";
import { FakeGitHub } from "../fake-github/fake-github.ts";
import { ApiClient } from "../harness/api-client.ts";
import { Narrator } from "./narrator.ts";
import { tellStory } from "./story.ts";

const TOKEN = "lh_demo_admin_token_only_for_the_demo";

async function main(): Promise<void> {
  const stays = !process.argv.includes("--exit");
  const folder = await mkdtemp(join(tmpdir(), "leasehold-demo-"));
  const narrator = new Narrator();
  narrator.opening("Starting PostgreSQL, a fake GitHub and Leasehold …");
  const postgres = await startEmbeddedPostgres({ dataDir: folder, log: () => {} });
  const github = await FakeGitHub.start();
  const app = await startApp({
    config: {
      host: "127.0.0.1",
      port: Number(process.env.PORT ?? 0),
      databaseUrl: postgres.url,
      dataDir: folder,
      envFile: join(folder, ".env"),
      app: {
        appId: github.app.id,
        privateKey: github.app.privateKey,
        webhookSecrets: [github.app.webhookSecret],
      },
      githubApiUrl: github.url,
      // Nobody should have to wait for a second between two comments of a demo.
      writePace: { spacingSeconds: 0, windows: [] },
      adminToken: TOKEN,
      region: "local",
      defaultLeaseSeconds: 30,
      maxLeaseSeconds: 1800,
      sweepSeconds: 5,
      reconcileSeconds: 60,
      logLevel: "warn",
      prettyLogs: false,
    },
    databaseUrl: postgres.url,
    adminToken: TOKEN,
    version: "demo",
    log: pino({ level: "warn" }),
  });
  try {
    github.deliverTo(`${app.address}/api/github/webhooks`);
    await tellStory({ github, api: new ApiClient(app.address, TOKEN, "acme/widgets"), narrator });
    github.assertQuiet();
    if (stays) {
      narrator.explore(app.address, TOKEN);
      await new Promise<void>((resolve) => {
        process.once("SIGINT", () => resolve());
        process.once("SIGTERM", () => resolve());
      });
    }
  } finally {
    await app.stop();
    await github.stop();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(
    `\nThe demo failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exitCode = 1;
});
