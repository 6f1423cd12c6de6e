/**
 * The connection to GitHub: one Probot, made when the App's credentials are known and swapped in without a
 * restart. All of Octokit's own waiting and repeating is off: it would hold jobs for minutes, repeat writes
 * blindly, and share one lane for all installations. Waiting is the inbox's and the outbox's business.
 */

import { RequestError } from "@octokit/request-error";
import type { Logger } from "pino";
import { Probot } from "probot";
import { failureOf, isKeyRefused } from "./failure.ts";
import { type Client, type GitHubRequest, octokitFor, type Supervisor } from "./installation-octokit.ts";

export type { Client, GitHubRequest };

export interface AppCredentials {
  readonly appId: number;
  readonly privateKey: string;
  /** The secrets that sign webhooks: the current one first, then one being rotated out. */
  readonly webhookSecrets: readonly string[];
}

export interface ConnectionOptions {
  /** REST base, `https://api.github.com` or a GHES `/api/v3`. */
  readonly baseUrl: string;
  readonly log: Logger;
  /** How long one request may take. */
  readonly timeoutMs?: number;
  /** Told of every request, when it was answered or given up. */
  onRequest?(request: GitHubRequest): void;
}

type Connected = { readonly app: AppCredentials; readonly probot: Probot };
/** Registers the webhook handlers on a fresh Probot. */
export type RegisterHandlers = (probot: Probot) => void;

const TIMEOUT_MS = 20_000;
const CHECK_MS = 30_000;

export type Check =
  | { readonly status: "unconfigured" }
  | { readonly status: "connected"; readonly slug: string | null }
  | { readonly status: "unreachable"; readonly detail: string };

/** Since when GitHub refuses the App's private key, and what it says. */
export interface KeyRefusal {
  readonly since: Date;
  readonly message: string;
}

/** Nobody watches: writes begin at once. */
const UNSUPERVISED: Supervisor = {
  inTurn: (_installationId, write) => write(),
  refused: async () => {},
  keyRefused: () => {},
};

/** Where Leasehold and GitHub meet. `app` is null until credentials are known. */
export class GitHubConnection {
  readonly #options: ConnectionOptions;
  readonly #stopping = new AbortController();
  #register: RegisterHandlers = () => {};
  #supervisor: Supervisor = UNSUPERVISED;
  #connected: Connected | null = null;
  #keyRefusal: KeyRefusal | null = null;
  #checked: { readonly app: AppCredentials; readonly at: number; readonly answer: Promise<Check> } | null =
    null;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get app(): AppCredentials | null {
    return this.#connected?.app ?? null;
  }

  get probot(): Probot | null {
    return this.#connected?.probot ?? null;
  }

  get baseUrl(): string {
    return this.#options.baseUrl;
  }

  /** Null: as far as we know GitHub takes the key. */
  get keyRefusal(): KeyRefusal | null {
    return this.#keyRefusal;
  }

  /** Whether work on GitHub can be begun: an App is known, and its key is not refused. */
  get isUsable(): boolean {
    return this.#connected !== null && this.#keyRefusal === null;
  }

  /** The handlers that every Probot made from now on gets. */
  onConnect(register: RegisterHandlers): void {
    this.#register = register;
  }

  /** Who watches over the clients of every Probot made from now on. */
  superviseWith(supervisor: Supervisor): void {
    this.#supervisor = supervisor;
  }

  /** Takes up credentials, in place of those in force if any. */
  connect(app: AppCredentials): void {
    const { baseUrl, log } = this.#options;
    const probot = new Probot({
      appId: app.appId,
      privateKey: app.privateKey,
      secret: app.webhookSecrets[0] ?? "",
      baseUrl,
      // It logs every failed try as an error, and whole events below that; the inbox says what became of each.
      log: log.child({ part: "probot" }, { level: "fatal" }),
      Octokit: this.#octokit({
        ...this.#supervisor,
        keyRefused: (message) => this.#refuseKey(app, message),
      }),
    });
    this.#register(probot);
    this.#connected = { app, probot };
    this.#keyRefusal = null;
  }

  /** Takes up other webhook secrets; all else stays as it is. */
  trustSecrets(webhookSecrets: readonly string[]): void {
    if (this.#connected)
      this.#connected = { ...this.#connected, app: { ...this.#connected.app, webhookSecrets } };
  }

  #octokit(supervisor: Supervisor) {
    const { baseUrl, timeoutMs = TIMEOUT_MS, onRequest = () => {} } = this.#options;
    return octokitFor({ baseUrl, timeoutMs, stopping: this.#stopping.signal, supervisor, onRequest });
  }

  #refuseKey(app: AppCredentials, message: string): void {
    if (this.#keyRefusal !== null || this.#connected?.app.privateKey !== app.privateKey) return;
    this.#keyRefusal = { since: new Date(), message };
    this.#supervisor.keyRefused(message);
  }

  /** Asks GitHub whether it takes this private key for the App in force. `unknown`: it did not say. */
  async tryKey(privateKey: string): Promise<"accepted" | "refused" | "unknown"> {
    if (!this.#connected) throw new Error("no GitHub App is configured");
    const Octokit = this.#octokit(UNSUPERVISED);
    const client = new Octokit({ auth: { appId: this.#connected.app.appId, privateKey } });
    try {
      await client.request("GET /app");
      return "accepted";
    } catch (error) {
      // What is no key at all fails before it is sent.
      const isUnusable = !(error instanceof RequestError) && !this.#stopping.signal.aborted;
      return isKeyRefused(error) || isUnusable ? "refused" : "unknown";
    }
  }

  /** Cuts off every request under way, and all to come: the process ends. */
  stop(): void {
    this.#stopping.abort();
  }

  /** A client that acts for an installation. Throws when no App is configured. */
  async client(installationId: number): Promise<Client> {
    if (!this.#connected) throw new Error("no GitHub App is configured");
    return (await this.#connected.probot.auth(installationId)) as Client;
  }

  /** A client that acts as the App itself. */
  async appClient(): Promise<Client> {
    if (!this.#connected) throw new Error("no GitHub App is configured");
    return (await this.#connected.probot.auth()) as Client;
  }

  /** Whether GitHub answers the App, and if not, why. Asked at most every half minute, however often it is called. */
  check(): Promise<Check> {
    if (!this.#connected) return Promise.resolve({ status: "unconfigured" });
    const now = performance.now();
    if (
      this.#checked === null ||
      this.#checked.app !== this.#connected.app ||
      now - this.#checked.at > CHECK_MS
    ) {
      this.#checked = { app: this.#connected.app, at: now, answer: this.#ask() };
    }
    return this.#checked.answer;
  }

  async #ask(): Promise<Check> {
    try {
      const { data } = await (await this.appClient()).rest.apps.getAuthenticated();
      return { status: "connected", slug: data?.slug ?? null };
    } catch (error) {
      return { status: "unreachable", detail: failureOf(error).message };
    }
  }
}
