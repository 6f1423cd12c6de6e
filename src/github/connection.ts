/**
 * The connection to GitHub: one Probot, made when the App's credentials are known and swapped in without a
 * restart. All of Octokit's own waiting and repeating is off: it would hold jobs for minutes, repeat writes
 * blindly, and share one lane for all installations. Waiting is the inbox's and the outbox's business.
 */

import { request } from "@octokit/request";
import type { Logger } from "pino";
import { Probot, ProbotOctokit } from "probot";
import { failureOf } from "./failure.ts";

export interface AppCredentials {
  readonly appId: number;
  readonly privateKey: string;
  /** The secrets that sign webhooks: the current one first, then one being rotated out. */
  readonly webhookSecrets: readonly string[];
}

/** An authenticated Octokit with GitHub's REST methods. */
export type Client = InstanceType<typeof ProbotOctokit>;

export interface ConnectionOptions {
  /** REST base, `https://api.github.com` or a GHES `/api/v3`. */
  readonly baseUrl: string;
  readonly log: Logger;
  /** How long one request may take. */
  readonly timeoutMs?: number;
}

type Connected = { readonly app: AppCredentials; readonly probot: Probot };
/** Registers the webhook handlers on a fresh Probot. */
export type RegisterHandlers = (probot: Probot) => void;

const TIMEOUT_MS = 20_000;

/** Where Leasehold and GitHub meet. `app` is null until credentials are known. */
export class GitHubConnection {
  readonly #options: ConnectionOptions;
  #register: RegisterHandlers = () => {};
  #connected: Connected | null = null;

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

  /** The handlers that every Probot made from now on gets. */
  onConnect(register: RegisterHandlers): void {
    this.#register = register;
  }

  /** Takes up credentials, in place of those in force if any. */
  connect(app: AppCredentials): void {
    const { baseUrl, log } = this.#options;
    const probot = new Probot({
      appId: app.appId,
      privateKey: app.privateKey,
      secret: app.webhookSecrets[0] ?? "",
      baseUrl,
      log: log.child({ part: "probot" }, { level: log.isLevelEnabled("info") ? "info" : log.level }),
      Octokit: octokitFor(this.#options),
    });
    this.#register(probot);
    this.#connected = { app, probot };
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

  /** Whether GitHub answers the App, and if not, why. */
  async check(): Promise<{
    status: "connected" | "unconfigured" | "unreachable";
    slug?: string;
    detail?: string;
  }> {
    if (!this.#connected) return { status: "unconfigured" };
    try {
      const { data } = await (await this.appClient()).rest.apps.getAuthenticated();
      return { status: "connected", ...(data?.slug ? { slug: data.slug } : {}) };
    } catch (error) {
      return { status: "unreachable", detail: failureOf(error).message };
    }
  }
}

function octokitFor({ baseUrl, timeoutMs = TIMEOUT_MS }: ConnectionOptions): typeof ProbotOctokit {
  const Base = ProbotOctokit.plugin((octokit) => {
    octokit.hook.before("request", (options) => {
      options.request = { ...options.request, signal: AbortSignal.timeout(timeoutMs) };
    });
  });
  return Base.defaults((options: Record<string, unknown>) => ({
    ...options,
    baseUrl,
    retry: { enabled: false },
    throttle: { enabled: false },
    // Without this, asking for an installation's token ignores the base URL.
    auth: { ...(options["auth"] as object), request: request.defaults({ baseUrl }) },
  })) as unknown as typeof ProbotOctokit;
}
