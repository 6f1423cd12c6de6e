/**
 * Octokit as it is used here: its own waiting and repeating is off, its requests end in time, and what it asks and
 * writes for an installation is supervised.
 */

import { request } from "@octokit/request";
import { ProbotOctokit } from "probot";
import { isKeyRefused, isTokenRefused } from "./failure.ts";
import { type ReportRequest, reported } from "./request-report.ts";

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

export interface OctokitOptions {
  readonly baseUrl: string;
  /** How long one request may take. */
  readonly timeoutMs: number;
  /** Cuts off what is under way and all to come. */
  readonly stopping: AbortSignal;
  readonly supervisor: Supervisor;
  /** Told of every request, when it was answered or given up. */
  readonly onRequest: ReportRequest;
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
      const endpoint = asked.url.replace(baseUrl, "");
      const isForApp = endpoint.startsWith("/app");
      const { installationId } = auth;
      const told = {
        method: asked.method,
        endpoint,
        installationId: isForApp ? null : (installationId ?? null),
      };
      const once = () =>
        sendWithFreshToken(() => reported(onRequest, told, async () => send(asked)), isForApp ? {} : auth);
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
