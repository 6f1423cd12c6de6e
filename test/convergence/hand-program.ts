/** Leasehold without its background jobs: a test takes every step by hand, and may let the process die in the middle. */

import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server } from "../../src/edges/http/server.ts";
import { SetupSessions } from "../../src/edges/http/setup-session.ts";
import { receiveThroughProbot, registerHandlers } from "../../src/edges/webhooks/handlers.ts";
import { GitHubConnection } from "../../src/github/connection.ts";
import { WorkflowTokens } from "../../src/github/workflow-tokens.ts";
import { backfill } from "../../src/services/backfill.ts";
import { checkItems } from "../../src/services/check-items.ts";
import { ClaimLine } from "../../src/services/claim-line.ts";
import type { Deps } from "../../src/services/deps.ts";
import { inboxWork } from "../../src/services/drain-inbox.ts";
import { drainInstallation } from "../../src/services/drain-outbox.ts";
import { EventFeed } from "../../src/services/event-feed.ts";
import { KnownCallers } from "../../src/services/known-callers.ts";
import { KnownNames } from "../../src/services/known-names.ts";
import { Metrics } from "../../src/services/metrics.ts";
import { MirrorAges } from "../../src/services/mirror-ages.ts";
import { readDuePull } from "../../src/services/read-pulls.ts";
import { reconcileRepository } from "../../src/services/reconcile.ts";
import { Setup } from "../../src/services/setup.ts";
import { sweep } from "../../src/services/sweep.ts";
import { TokenWatch } from "../../src/services/token-watch.ts";
import { pendingBackfills } from "../../src/store/backfill.ts";
import type { Delivery } from "../fake-github/delivery.ts";
import type { FakeGitHub } from "../fake-github/fake-github.ts";
import { sign } from "../fake-github/post-webhook.ts";
import { recordedLog } from "../harness/recorded-log.ts";
import { ADMIN_TOKEN } from "../harness/world.ts";
import { type MortalDatabase, mortalDatabase, ProcessDied } from "./mortal-database.ts";

const NEVER = new AbortController().signal;

export class HandProgram {
  readonly deps: Deps;
  readonly logged: ReturnType<typeof recordedLog>;
  readonly #database: MortalDatabase;
  readonly #github: FakeGitHub;
  readonly #server: Server;
  readonly #workInbox: () => Promise<boolean>;

  private constructor(parts: {
    deps: Deps;
    logged: ReturnType<typeof recordedLog>;
    database: MortalDatabase;
    github: FakeGitHub;
    server: Server;
  }) {
    this.deps = parts.deps;
    this.logged = parts.logged;
    this.#database = parts.database;
    this.#github = parts.github;
    this.#server = parts.server;
    this.#workInbox = inboxWork(parts.deps, receiveThroughProbot(parts.deps), NEVER);
  }

  static async start(url: string, github: FakeGitHub): Promise<HandProgram> {
    const logged = recordedLog();
    const { log } = logged;
    const connection = new GitHubConnection({ baseUrl: github.url, log });
    // A dead process asks GitHub nothing more, either.
    const database = mortalDatabase(url, () => connection.stop());
    const replica = randomUUID();
    const metrics = new Metrics();
    const deps: Deps = {
      database,
      db: database.db,
      github: connection,
      log,
      region: "local",
      mirrors: new MirrorAges(database.db),
      lease: { defaultSeconds: 30, maxSeconds: 1800 },
      replica,
      version: "test",
      wake: {
        inbox: () => {},
        outbox: () => {},
        checks: () => {},
        pulls: () => {},
        anchors: () => {},
        backfill: () => {},
      },
      metrics,
      line: new ClaimLine(database.db, replica, log, metrics),
      events: new EventFeed(database.db, log),
      names: new KnownNames(),
      callers: new KnownCallers(),
      workflows: new WorkflowTokens({ issuer: "http://127.0.0.1:9", audience: "leasehold" }),
      watch: new TokenWatch(database.db, log),
    };
    connection.onConnect((probot) => registerHandlers(probot, deps));
    const { id: appId, privateKey, webhookSecret } = github.app;
    connection.connect({ appId, privateKey, webhookSecrets: [webhookSecret] });
    const setup = new Setup({ github: connection, log, envFile: join(tmpdir(), `${replica}.env`) });
    const setupSessions = new SetupSessions();
    const server = await createServer(deps, {
      adminToken: ADMIN_TOKEN,
      requestsPerSecond: 0,
      setup,
      setupSessions,
    });
    return new HandProgram({ deps, logged, database, github, server });
  }

  get isDead(): boolean {
    return this.#database.isDead;
  }

  /** Dies before the statement after so many. */
  dieAfter(statements: number): void {
    this.#database.dieAfter(statements);
  }

  async end(): Promise<void> {
    await this.#server.close();
    await this.#database.bury();
  }

  /** One webhook, as GitHub sends it. False: it was not taken. */
  async receive({ event, guid, hookId, payload }: Delivery): Promise<boolean> {
    const answer = await this.#server.inject({
      method: "POST",
      url: "/api/github/webhooks",
      payload,
      headers: {
        "content-type": "application/json",
        "x-github-delivery": guid,
        "x-github-event": event,
        "x-github-hook-id": String(hookId),
        "x-hub-signature-256": sign(payload, this.#github.app.webhookSecret),
      },
    });
    if (answer.statusCode === 202) return true;
    if (this.isDead) return false;
    throw new Error(`a webhook was answered ${answer.statusCode}: ${answer.body}`);
  }

  /** A worker's request. Null: nobody answered. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  async ask(method: "GET" | "POST", path: string, body?: object): Promise<any> {
    const answer = await this.#server.inject({
      method,
      url: `/api/v1/repos/${path}`,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(body === undefined ? {} : { payload: body }),
    });
    return this.isDead ? null : answer.json();
  }

  /** A part of the inbox, as far as it is due. False: none is. */
  inbox = (): Promise<boolean> => this.#alive(this.#workInbox);

  /** One installation's outbox, as far as it is due. False: none is. */
  outbox = (): Promise<boolean> => this.#alive(() => drainInstallation(this.deps, NEVER));

  /** Every queue until nothing is due. */
  work(): Promise<boolean> {
    return this.#alive(async () => {
      let did = false;
      let again = true;
      while (again) {
        again = false;
        const units = [
          this.#workInbox,
          () => checkItems(this.deps.db),
          () => this.#backfill(),
          () => readDuePull(this.deps, NEVER),
          () => drainInstallation(this.deps, NEVER),
        ];
        for (const unit of units) {
          while (await unit()) again = true;
        }
        did ||= again;
      }
      return did;
    });
  }

  /** What a schedule does: parks what waited for its pull request, and finishes half parks. */
  sweep(): Promise<boolean> {
    return this.#alive(async () => (await sweep(this.deps)) > 0);
  }

  /** Reads what changed since the last reading, or everything, which finds also what is gone. */
  reconcile(repositoryId: number, mode: "since" | "all"): Promise<boolean> {
    return this.#alive(async () => {
      await reconcileRepository(this.deps, repositoryId, mode);
      return true;
    });
  }

  async #backfill(): Promise<boolean> {
    const [repositoryId] = await pendingBackfills(this.deps.db, 1);
    if (repositoryId === undefined) return false;
    await backfill(this.deps, repositoryId, NEVER);
    return true;
  }

  /** Work that ends with the process is no failure. */
  async #alive(work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      if (this.isDead) return false;
      throw error instanceof ProcessDied ? new Error("dead, and yet alive", { cause: error }) : error;
    }
  }
}
