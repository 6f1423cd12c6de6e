/**
 * Octokit as it is used here: its own waiting and repeating is off, its requests end in time, and what it asks and
 * writes for an installation is supervised.
 */

import { request } from "@octokit/request";
import { RequestError } from "@octokit/request-error";
import { ProbotOctokit } from "probot";
import { isKeyRefused, isTokenRefused } from "./failure.ts";

/** An authenticated Octokit with GitHub's REST methods. */
export type Client = InstanceType<typeof ProbotOctokit>;

/** Watches over what is asked and written for installations. */
export interface Supervisor {
  /** Lets a write begin when it may, and not at all where that would take long. */
  inTurn<T>(installationId: number, write: () => Promise<T>): Promise<T>;
  /** GitHub refused a request: what it says may hold for others too. Told before whoever asked is. */
  refused(installationId: number, error: unknown): Promise<void>;
  /** GitHub does not take the App's private key. */
  keyRefused(message: string): void;
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

export interface OctokitOptions {
  readonly baseUrl: string;
  /** How long one request may take. */
  readonly timeoutMs: number;
  /** Cuts off what is under way and all to come. */
  readonly stopping: AbortSignal;
  readonly supervisor: Supervisor;
  /** Told of every request, when it was answered or given up. */
  readonly onRequest: (request: GitHubRequest) => void;
}

/** Octokit keeps tokens for 59 minutes, under the installation's id; without one the client acts as the App. */
interface Auth {
  readonly cache?: { delete(key: string): void };
  readonly installationId?: number;
}

export function octokitFor(options: OctokitOptions): typeof ProbotOctokit {
  const { baseUrl, timeoutMs, stopping, supervisor, onRequest } = options;
  const Base = ProbotOctokit.plugin((octokit, given) => {
    const auth = given.auth as Auth;
    octokit.hook.before("request", (asked) => {
      asked.request = {
        ...asked.request,
        signal: AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]),
      };
    });
    octokit.hook.wrap("request", async (send, asked) => {
      // Asking for a token comes here too, from within the request that it is for.
      const isForApp = asked.url.replace(baseUrl, "").startsWith("/app");
      const { installationId } = auth;
      const by = isForApp ? {} : auth;
      const sendTold = () => told(onRequest, asked, by.installationId ?? null, async () => send(asked));
      const once = () => sendWithFreshToken(sendTold, by);
      try {
        return installationId === undefined || isForApp || asked.method === "GET"
          ? await once()
          : await supervisor.inTurn(installationId, once);
      } catch (error) {
        if (isForApp && isKeyRefused(error)) supervisor.keyRefused((error as Error).message);
        if (installationId !== undefined) await supervisor.refused(installationId, error);
        throw error;
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

interface Answered {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** Sends, and tells `onRequest` what came of it. */
async function told<T extends Answered>(
  onRequest: OctokitOptions["onRequest"],
  { method, url }: { readonly method: string; readonly url: string },
  installationId: number | null,
  send: () => Promise<T>,
): Promise<T> {
  const tell = (answer: Answered | undefined): void => {
    const { status = null, headers = {} } = answer ?? {};
    const said = headers["x-ratelimit-remaining"];
    const remaining = said === undefined || said === "" ? null : Number(said);
    onRequest({ method, endpoint: url, status, installationId, remaining });
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

/**
 * GitHub does not take an installation's token any more: it expired sooner than our clock says, or was revoked
 * (github-cases 72). Nothing was done, so that asking again under a new token repeats nothing.
 */
async function sendWithFreshToken<T>(send: () => Promise<T>, { cache, installationId }: Auth): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!isTokenRefused(error) || cache === undefined || installationId === undefined) throw error;
    cache.delete(String(installationId));
    return await send();
  }
}
