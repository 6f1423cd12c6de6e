/**
 * A world to tell stories in: a fake GitHub over HTTP, the real program on a real PostgreSQL, and a worker's API
 * client. When the story is over it complains about anything that no correct program would have done.
 */

import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { type App, startApp } from "../../src/app.ts";
import type { Config } from "../../src/config.ts";
import { auditDeliveries } from "../../src/services/audit-deliveries.ts";
import { sweep } from "../../src/services/sweep.ts";
import { FakeGitHub, type FakeGitHubOptions } from "../fake-github/fake-github.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { ApiClient } from "./api-client.ts";
import { createDatabase, dropDatabase, TEMPLATE, urlOf } from "./databases.ts";
import { ERROR, type LogLine, recordedLog } from "./recorded-log.ts";
import { waitFor } from "./wait-for.ts";

/** Half of what makes claims be refused. */
const AUDIT_AFTER_SECONDS = 1_800;
const NO_SILENCE_SECONDS = 10 * 365 * 86_400;

/** On a busy machine a burst of deliveries takes its time. */
const DELIVERY_MS = 60_000;

export const ADMIN_TOKEN = "lh_test_admin_token_0123456789";

export interface WorldOptions {
  readonly config?: Partial<Config>;
  readonly github?: FakeGitHubOptions;
  /** Without credentials of a GitHub App. */
  readonly unconfigured?: boolean;
}

export class World {
  readonly github: FakeGitHub;
  readonly databaseUrl: string;
  readonly api: ApiClient;
  /** Everything the program logged. */
  readonly logged: ReturnType<typeof recordedLog>;
  readonly #config: Config;
  readonly #apps: App[];
  #expected: RegExp[] = [];
  #offsetSeconds = 0;
  /** Null: not yet. */
  #auditedAt: number | null = null;

  private constructor(parts: {
    github: FakeGitHub;
    databaseUrl: string;
    config: Config;
    app: App;
    logged: ReturnType<typeof recordedLog>;
  }) {
    this.github = parts.github;
    this.databaseUrl = parts.databaseUrl;
    this.#config = parts.config;
    this.#apps = [parts.app];
    this.logged = parts.logged;
    this.api = new ApiClient(parts.app.address, ADMIN_TOKEN, "acme/widgets");
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const server = inject("postgresUrl");
    const name = `w_${randomBytes(8).toString("hex")}`;
    await createDatabase(server, name, TEMPLATE);
    const github = await FakeGitHub.start(options.github);
    const config: Config = {
      host: "127.0.0.1",
      port: 0,
      databaseUrl: urlOf(server, name),
      dataDir: tmpdir(),
      envFile: join(tmpdir(), `${name}.env`),
      app: options.unconfigured
        ? null
        : {
            appId: github.app.id,
            privateKey: github.app.privateKey,
            webhookSecrets: [github.app.webhookSecret],
          },
      githubApiUrl: github.url,
      // Stories tell what is written; at what pace, test/outbox does.
      writePace: { spacingSeconds: 0, windows: [] },
      adminToken: ADMIN_TOKEN,
      region: "local",
      defaultLeaseSeconds: 30,
      maxLeaseSeconds: 1800,
      sweepSeconds: 3600,
      reconcileSeconds: 86_400,
      requestsPerSecond: 0,
      oidc: { issuer: "http://127.0.0.1:9", audience: "leasehold" },
      logLevel: "debug",
      prettyLogs: false,
      ...options.config,
    };
    const logged = recordedLog();
    const app = await launch(config, logged);
    github.deliverTo(`${app.address}/api/github/webhooks`);
    return new World({ github, databaseUrl: urlOf(server, name), config, app, logged });
  }

  get app(): App {
    const app = this.#apps.at(-1);
    if (!app) throw new Error("the program is not running");
    return app;
  }

  get db() {
    return this.app.deps.db;
  }

  /** A repository with the App on it, backfilled: `acme/widgets`, where alice is admin and tess may triage. */
  async repository(
    fullName = "acme/widgets",
    roles: Record<string, "admin" | "triage" | "read" | "write"> = {},
  ) {
    const repo = this.github.repository(fullName, {
      collaborators: { alice: "admin", tess: "triage", rita: "read", ...roles },
    });
    await this.install(repo);
    return repo;
  }

  async install(repo: FakeRepository): Promise<void> {
    this.github.install(repo);
    await this.settled();
    if (this.#auditedAt === null) await this.audit();
  }

  /** A second process on the same database. */
  async secondReplica(): Promise<{ api: ApiClient; address: string; stop(): Promise<void> }> {
    const app = await launch(this.#config, this.logged);
    const { address } = app;
    return { api: new ApiClient(address, ADMIN_TOKEN, "acme/widgets"), address, stop: () => app.stop() };
  }

  /** The program ends, and starts again on the same database and at the same address. */
  async restart(): Promise<void> {
    const port = Number(new URL(this.app.address).port);
    await this.app.stop();
    this.#apps.splice(0, 1, await launch({ ...this.#config, port }, this.logged));
  }

  /** The database's clock moves on; nobody sleeps. */
  async pass(seconds: number): Promise<void> {
    // While both clocks still agree.
    if (this.#auditedAt === null) await this.audit();
    this.#offsetSeconds += seconds;
    await this.app.deps.database.pool.query(
      `create or replace function db_now() returns timestamptz language sql volatile
       as $$ select clock_timestamp() + interval '${this.#offsetSeconds} seconds' $$`,
    );
    // So much time has passed that nothing is remembered any more.
    for (const app of this.#apps) app.deps.callers.forget();
    this.app.deps.mirrors.forget();
    // The program asks every few minutes whether deliveries failed; a story whose clock jumps must not look like an outage.
    if (this.#offsetSeconds - (this.#auditedAt ?? 0) > AUDIT_AFTER_SECONDS) await this.audit();
    this.app.deps.wake.inbox();
    this.app.deps.wake.outbox();
    this.app.deps.wake.pulls();
    this.app.deps.wake.anchors();
  }

  /** The audit of GitHub's deliveries, now. No silence is too long for it, unless told otherwise. */
  async audit(quietSeconds = NO_SILENCE_SECONDS): Promise<void> {
    this.#auditedAt = this.#offsetSeconds;
    await auditDeliveries(this.app.deps, quietSeconds);
    this.app.deps.mirrors.forget();
  }

  /** The park sweep, now. */
  async sweep(): Promise<number> {
    const parked = await sweep(this.app.deps);
    await this.settled();
    return parked;
  }

  /** GitHub has delivered, and everything that is due on either side has been worked off. */
  async settled(): Promise<void> {
    await waitFor("everything to be worked off", async () => {
      await this.github.delivered(DELIVERY_MS);
      const left = await this.#due();
      if (left !== "") return `still due: ${left}`;
      await this.github.delivered(DELIVERY_MS);
      return (await this.#due()) === "" ? null : "more came meanwhile";
    });
  }

  async #due(): Promise<string> {
    const { rows } = await this.app.deps.database.pool.query<{ what: string }>(`
      select 'inbox ' || event || ' ' || lane || ' ' || coalesce(error, '') as what from inbox
        where state = 'pending' and next_try_at <= db_now()
          -- What follows in a lane whose first waits for a suspension to end waits with it.
          and not exists (select 1 from inbox first join repository r on r.id = first.repository_id
            join installation i on i.id = r.installation_id
            where first.repository_id = inbox.repository_id and first.lane = inbox.lane and first.state = 'pending'
              and first.seq < inbox.seq and first.next_try_at > db_now() and i.suspended_at is not null)
      union all
      select 'outbox ' || promise || ' ' || coalesce(o.error, '') from outbox o join repository r on r.id = o.repository_id
        join installation i on i.id = r.installation_id
        where state = 'pending' and next_try_at <= db_now() and installed and not archived and current_name
          and suspended_at is null and coalesce(paused_until, '-infinity') <= db_now()
          and not exists (select 1 from outbox earlier where earlier.repository_id = o.repository_id
            and earlier.state = 'pending' and earlier.id < o.id
            and earlier.issue_number is not distinct from o.issue_number)
      union all
      select 'pull ' || p.number from pull_request p join repository r on r.id = p.repository_id
        join installation i on i.id = r.installation_id
        where p.read_due_at <= db_now() and r.installed and r.current_name and i.suspended_at is null
          and i.removed_at is null
      union all
      select 'check of #' || number from item_check
      union all
      select 'backfill ' || name || ' ' || coalesce(backfill_error, '') from repository r
        join installation i on i.id = r.installation_id
        where backfill_state = 'pending' and installed and current_name and suspended_at is null
          and i.removed_at is null and backfill_error is null
      union all
      select 'anchors ' || a.branch from anchor a join repository r on r.id = a.target_repository_id
        join installation i on i.id = r.installation_id
        left join anchored_branch b on b.repository_id = a.target_repository_id and b.name = a.branch
        where installed and current_name and suspended_at is null and i.removed_at is null
          and (a.read_at is null or b.wanted > b.done or b.reader is not null
            or b.read_at < db_now() - interval '1 day')
          -- What could not be read is tried again later.
          and not (b.reader is null and coalesce(b.reader_until, '-infinity') > db_now())`);
    return rows.map(({ what }) => what).join(", ");
  }

  /** Errors in the log, or failed deliveries, that this story provokes. */
  expectError(pattern: RegExp): void {
    this.#expected.push(pattern);
  }

  /** Ends the story and complains about what it did not mean to provoke. */
  async end(): Promise<void> {
    const failed = await this.app.deps.database.pool.query<{ what: string }>(`
      select 'inbox: ' || event || ': ' || coalesce(error, '') as what from inbox where state = 'failed'
      union all select 'outbox: ' || promise || ': ' || coalesce(error, '') from outbox where state = 'failed'`);
    // Asked before the end: a program that is going down is right to refuse what GitHub still delivers.
    const refused = this.github.complaints();
    for (const app of this.#apps) await app.stop();
    await this.github.stop();
    await dropDatabase(inject("postgresUrl"), new URL(this.databaseUrl).pathname.slice(1));
    const complaints = [
      ...refused.map((complaint) => `GitHub: ${complaint}`),
      ...failed.rows.map(({ what }) => what),
      ...this.logged.lines.filter((line) => line.level >= ERROR).map(describe),
    ].filter((complaint) => !this.#expected.some((pattern) => pattern.test(complaint)));
    if (complaints.length > 0) throw new Error(`there were complaints:\n${complaints.join("\n")}`);
  }
}

const launch = (config: Config, logged: ReturnType<typeof recordedLog>): Promise<App> =>
  startApp({
    config,
    databaseUrl: config.databaseUrl ?? "",
    adminToken: ADMIN_TOKEN,
    version: "test",
    log: logged.log,
  });

const describe = (line: LogLine): string => JSON.stringify(line);
