/** Wires the parts together. Tests and `main.ts` start the same program from here. */

import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Config } from "./config.ts";
import { GITHUB_PACE, writePace } from "./domain/write-pace.ts";
import { createServer, type Server } from "./edges/http/server.ts";
import { SetupSessions } from "./edges/http/setup-session.ts";
import { type Jobs, startJobs } from "./edges/jobs/runner.ts";
import { createWake } from "./edges/jobs/wake.ts";
import { receiveThroughProbot, registerHandlers } from "./edges/webhooks/handlers.ts";
import { GitHubConnection } from "./github/connection.ts";
import { WorkflowTokens } from "./github/workflow-tokens.ts";
import { ClaimLine } from "./services/claim-line.ts";
import type { Deps } from "./services/deps.ts";
import { EventFeed } from "./services/event-feed.ts";
import { KeyWatch } from "./services/key-watch.ts";
import { KnownCallers } from "./services/known-callers.ts";
import { KnownNames } from "./services/known-names.ts";
import { Metrics } from "./services/metrics.ts";
import { MirrorAges } from "./services/mirror-ages.ts";
import { Setup } from "./services/setup.ts";
import { supervisor } from "./services/supervise-requests.ts";
import { TokenWatch } from "./services/token-watch.ts";
import { openDatabase } from "./store/database.ts";
import { Listener } from "./store/listener.ts";
import { migrate } from "./store/migrate.ts";

export interface AppOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly adminToken: string;
  readonly version: string;
  readonly log: Logger;
}

export interface App {
  readonly deps: Deps;
  /** Where it listens, e.g. `http://127.0.0.1:3000`. */
  readonly address: string;
  /** Where a GitHub App is registered, with a code that works once; null when one is configured. */
  readonly setupLink: string | null;
  /** No new requests; jobs are finished or handed back; the pool is closed. */
  stop(): Promise<void>;
}

const POOL_SIZE = 24;
const TICK_MS = 15_000;
/** SIGTERM must be over in ten seconds. */
const STOP_REQUESTS_MS = 3_000;
const STOP_JOBS_MS = 5_000;

/** Requests under way are answered; those that hang are cut off. */
async function closeServer(server: Server): Promise<void> {
  const cut = setTimeout(() => server.server.closeAllConnections(), STOP_REQUESTS_MS);
  await server.close();
  clearTimeout(cut);
}

export async function startApp({ config, databaseUrl, adminToken, version, log }: AppOptions): Promise<App> {
  // Only what it says: pg hangs the client on the error, and with it the password.
  const database = openDatabase(
    databaseUrl,
    POOL_SIZE,
    ({ message }) => log.warn({ reason: message }, "a database connection broke"),
    ({ severity, message, detail }) => log[severity]({ detail }, message),
  );
  // What was begun ends when the start fails half way: left running, it would complain of a database that is closed, and
  // keep a process alive that serves nobody.
  const begun: (() => unknown)[] = [];
  try {
    const applied = await migrate(database);
    if (applied.length > 0) log.info({ applied }, "migrations were applied");
    const replica = randomUUID();
    const metrics = new Metrics();
    const line = new ClaimLine(database.db, replica, log, metrics);
    const names = new KnownNames();
    const mirrors = new MirrorAges(database.db);
    const callers = new KnownCallers();
    const watch = new TokenWatch(database.db, log);
    const events = new EventFeed(database.db, log);
    const ended = new AbortController();
    begun.push(() => ended.abort());
    let jobs: Jobs | null = null;
    const deps: Deps = {
      database,
      line,
      names,
      mirrors,
      callers,
      workflows: new WorkflowTokens(config.oidc),
      watch,
      events,
      metrics,
      db: database.db,
      github: new GitHubConnection({
        baseUrl: config.githubApiUrl,
        log,
        onRequest: (request) => metrics.github(request),
      }),
      log,
      region: config.region,
      lease: { defaultSeconds: config.defaultLeaseSeconds, maxSeconds: config.maxLeaseSeconds },
      replica,
      version,
      wake: createWake(database.db, log, ended.signal, () => jobs?.drainOutbox() ?? false),
    };
    const keyWatch = new KeyWatch(
      deps,
      config.readPrivateKeys ?? (() => []),
      config.readWebhookSecrets ?? (() => []),
    );
    deps.github.onConnect((probot) => registerHandlers(probot, deps));
    deps.github.superviseWith(
      supervisor(deps, config.writePace ?? writePace(GITHUB_PACE), (message) => keyWatch.refused(message)),
    );
    if (config.app) deps.github.connect(config.app);

    const setup = new Setup({ github: deps.github, log, envFile: config.envFile });
    const setupSessions = new SetupSessions();
    begun.push(() => line.stop());
    await line.start();
    begun.push(() => watch.stop());
    watch.start();
    begun.push(() => events.stop());
    await events.start();
    const listener = new Listener({
      url: databaseUrl,
      channels: ["claim_line", "repository_changed", "item_check", "event", "api_token"],
      onNotify: (channel, name) => {
        if (channel === "claim_line") line.call(name);
        else if (channel === "event") void events.read();
        else if (channel === "item_check") deps.wake.checks();
        else if (channel === "repository_changed") {
          names.forget();
          // What a workflow may do stands in the repository's configuration.
          callers.forget();
        } else {
          callers.forget();
          void watch.look();
        }
      },
      onConnect: () => {
        names.forget();
        callers.forget();
        void watch.look();
        void line.look();
        void events.reconnected();
      },
      onError: ({ message }) =>
        log.warn({ reason: message }, "the listening connection broke; it reconnects"),
    });
    begun.push(() => listener.stop());
    await listener.start();
    const server = await createServer(deps, {
      adminToken,
      requestsPerSecond: config.requestsPerSecond,
      setup,
      setupSessions,
    });
    begun.push(() => closeServer(server));
    const address = await server.listen({ host: config.host, port: config.port });
    const running = await startJobs(deps, {
      sweepSeconds: config.sweepSeconds,
      reconcileSeconds: config.reconcileSeconds,
      tickMs: TICK_MS,
      receive: receiveThroughProbot(deps),
      keyWatch,
    });
    jobs = running;
    return {
      deps,
      address,
      setupLink: config.app ? null : `${address}/setup?code=${setupSessions.issueCode()}`,
      stop: async () => {
        watch.stop();
        await line.stop();
        events.stop();
        await closeServer(server);
        await listener.stop();
        await running.stop(STOP_JOBS_MS);
        ended.abort();
        await database.close();
      },
    };
  } catch (error) {
    for (const end of begun.reverse()) await end();
    await database.close();
    throw error;
  }
}
