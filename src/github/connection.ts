/**
 * The connection to GitHub: one Probot, made when the App's credentials are known and swapped in without a
 * restart. All of Octokit's own waiting and repeating is off: it would hold jobs for minutes, repeat writes
 * blindly, and share one lane for all installations. Waiting is the inbox's and the outbox's business.
 */

import { request } from "@octokit/request";
import { RequestError } from "@octokit/request-error";
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
  /** Told of every request, when it was answered or given up. */
  onRequest?(request: GitHubRequest): void;
}

/** A request to GitHub, without anything of what it was about. */
export interface GitHubRequest {
  readonly method: string;
  /** Its template: `/repos/{owner}/{repo}/issues`. */
  readonly endpoint: string;
  /** Null: there was no answer. */
  readonly status: number | null;
  /** Null: as the App itself. */
  readonly installationId: number | null;
  /** How many requests GitHub still allows in this hour, if it said so. */
  readonly remaining: number | null;
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

/** Where Leasehold and GitHub meet. `app` is null until credentials are known. */
export class GitHubConnection {
  readonly #options: ConnectionOptions;
  readonly #stopping = new AbortController();
  #register: RegisterHandlers = () => {};
  #connected: Connected | null = null;
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
      // It logs every failed try as an error, and whole events below that; the inbox says what became of each.
      log: log.child({ part: "probot" }, { level: "fatal" }),
      Octokit: octokitFor(this.#options, this.#stopping.signal),
    });
    this.#register(probot);
    this.#connected = { app, probot };
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

interface Answered {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** Sends, and tells `onRequest` what came of it. */
async function told<T extends Answered>(
  { onRequest }: ConnectionOptions,
  { method, url }: { readonly method: string; readonly url: string },
  installationId: number | null,
  send: () => Promise<T> | T,
): Promise<T> {
  const tell = (answer: Answered | undefined): void => {
    const { status = null, headers = {} } = answer ?? {};
    const said = headers["x-ratelimit-remaining"];
    const remaining = said === undefined || said === "" ? null : Number(said);
    onRequest?.({ method, endpoint: url, status, installationId, remaining });
  };
  try {
    const answer = await send();
    tell(answer);
    return answer;
  } catch (error) {
    // Octokit makes a 500 of its own of what was not answered.
    tell(error instanceof RequestError ? error.response : undefined);
    throw error;
  }
}

function octokitFor(options: ConnectionOptions, stopping: AbortSignal): typeof ProbotOctokit {
  const { baseUrl, timeoutMs = TIMEOUT_MS } = options;
  const Base = ProbotOctokit.plugin((octokit, { auth }) => {
    octokit.hook.before("request", (asked) => {
      asked.request = {
        ...asked.request,
        signal: AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]),
      };
    });
    octokit.hook.wrap("request", async (send, asked) => {
      const sendTold = () => told(options, asked, auth?.installationId ?? null, () => send(asked));
      try {
        return await sendTold();
      } catch (error) {
        if (!isTokenRefused(error) || !forgetToken(auth)) throw error;
        return await sendTold();
      }
    });
  });
  return Base.defaults((given: Record<string, unknown>) => ({
    ...given,
    baseUrl,
    retry: { enabled: false },
    throttle: { enabled: false },
    // Without this, asking for an installation's token ignores the base URL.
    auth: { ...(given.auth as object), request: request.defaults({ baseUrl }) },
  })) as unknown as typeof ProbotOctokit;
}

/**
 * GitHub does not take an installation's token any more: it expired sooner than our clock says, or was revoked
 * (github-cases 72). Nothing was done, so that asking again under a new token repeats nothing.
 */
const isTokenRefused = (error: unknown): boolean =>
  error instanceof RequestError &&
  error.status === 401 &&
  !new URL(error.request.url).pathname.includes("/app");

/** Octokit keeps tokens for 59 minutes, under the installation's id. False: the client is no installation's. */
function forgetToken(auth: { cache?: { delete(key: string): void }; installationId?: number }): boolean {
  if (auth.cache === undefined || auth.installationId === undefined) return false;
  auth.cache.delete(String(auth.installationId));
  return true;
}
