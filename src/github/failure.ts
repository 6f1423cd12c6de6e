/** What a failed request to GitHub means for whoever made it. */

import { RequestError } from "@octokit/request-error";

export interface GitHubFailure {
  /**
   * `rate_limited`: wait as told. `transient`: try again later. `refused`: GitHub will not do it, now or
   * later (not found, gone, invalid). `unauthorized`: the key or token is not accepted. `barred`: the App may not
   * act there now (suspended, archived, a permission not granted yet); it may again.
   */
  readonly kind: "rate_limited" | "transient" | "refused" | "unauthorized" | "barred";
  readonly status: number | null;
  readonly retryAfterSeconds: number | null;
  readonly message: string;
}

/**
 * A request that was not sent, because GitHub asked to wait, suspended the App, or it is not our turn to write. Reads as
 * GitHub's own refusal would.
 */
export class RequestHeld extends Error {
  readonly kind: "rate_limited" | "barred";
  readonly retryAfterSeconds: number | null;

  constructor(kind: "rate_limited" | "barred", message: string, retryAfterSeconds: number | null) {
    super(message);
    this.name = "RequestHeld";
    this.kind = kind;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** GitHub's advice when it gives no time: at least a minute. */
const DEFAULT_RETRY_SECONDS = 60;

/** Reads an error of Octokit, of the network, or anything else. Errors that are not GitHub's count as transient. */
export function failureOf(error: unknown): GitHubFailure {
  if (error instanceof RequestHeld) {
    const { kind, message, retryAfterSeconds } = error;
    return { kind, status: null, retryAfterSeconds, message };
  }
  if (!(error instanceof RequestError)) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "transient", status: null, retryAfterSeconds: null, message };
  }
  const { status } = error;
  const base = {
    status,
    message: `${error.request.method} ${pathOf(error.request.url)}: ${status} ${error.message}`,
  };
  const wait = waitOf(error);
  if (wait !== null) {
    return {
      ...base,
      kind: "rate_limited",
      retryAfterSeconds: wait === "not told" ? DEFAULT_RETRY_SECONDS : wait,
    };
  }
  if (status === 401) return { ...base, kind: "unauthorized", retryAfterSeconds: null };
  if (status === 403) return { ...base, kind: "barred", retryAfterSeconds: null };
  const refused =
    status >= 400 && status < 500 && ![408, 409, 425].includes(status) && !isTokenPath(error.request.url);
  return { ...base, kind: refused ? "refused" : "transient", retryAfterSeconds: null };
}

/** Whether it was GitHub, or the way there, that failed, and not something of ours. */
export const isGitHubFailure = (error: unknown): boolean =>
  error instanceof RequestError || error instanceof RequestHeld;

/** Whether GitHub said that the thing is not there (404) or is gone for good (410). */
export const isAbsent = (error: unknown): boolean =>
  error instanceof RequestError && (error.status === 404 || error.status === 410);

/** Whether GitHub's answer is the one that the request named. */
export const isUnchanged = (error: unknown): boolean => error instanceof RequestError && error.status === 304;

/** What bars the App, in GitHub's words: the event that should have told of it may be late or lost (github-cases 35, 36). */
export function barOf(error: unknown): "archived" | "suspended" | null {
  if (!(error instanceof RequestError) || error.status !== 403) return null;
  if (/\barchived\b.*read-only/i.test(error.message)) return "archived";
  return /installation has been suspended/i.test(error.message) ? "suspended" : null;
}

/** Where tokens are made: a refusal there is about the installation, not about what the token was wanted for. */
const isTokenPath = (url: string): boolean => /\/app\/installations\/\d+\/access_tokens$/.test(pathOf(url));

/**
 * Whether GitHub said that the thing was there and is gone for good. It says the same of every issue of a repository
 * whose issues are switched off, which may be switched on again.
 */
export const isDeleted = (error: unknown): boolean =>
  error instanceof RequestError && error.status === 410 && !/disabled/i.test(error.message);

/** Whether GitHub limits us, and for how many seconds it says. */
export function waitOf(error: unknown): number | "not told" | null {
  if (!(error instanceof RequestError)) return null;
  const { status, response, message } = error;
  const headers = response?.headers ?? {};
  const retryAfter = Number(headers["retry-after"]);
  if (Number.isFinite(retryAfter) && headers["retry-after"] !== undefined) return Math.max(1, retryAfter);
  if (headers["x-ratelimit-remaining"] === "0" && (status === 403 || status === 429)) {
    const reset = Number(headers["x-ratelimit-reset"]);
    const now = Date.parse(String(headers.date ?? "")) || Date.now();
    if (Number.isFinite(reset)) return Math.max(1, Math.ceil(reset - now / 1000));
  }
  return status === 429 || (status === 403 && /rate limit|abuse/i.test(message)) ? "not told" : null;
}

/** Where the App's key is used, and no installation's token. */
const isAppPath = (url: string): boolean => /^(\/api\/v3)?\/app(\/|$)/.test(pathOf(url));

/** Whether GitHub does not take the key that the App signs with (github-cases 76). A wrong clock is no wrong key. */
export const isKeyRefused = (error: unknown): boolean =>
  error instanceof RequestError &&
  error.status === 401 &&
  isAppPath(error.request.url) &&
  !/'(Issued at|Expiration time)' claim/.test(error.message);

/** Whether GitHub does not take an installation's token. A refused key or a wrong clock is something else. */
export const isTokenRefused = (error: unknown): boolean =>
  error instanceof RequestError && error.status === 401 && !isAppPath(error.request.url);

/** Whether GitHub does not know the installation: the App was taken off the account, and no event told of it. */
export const isInstallationUnknown = (error: unknown): boolean =>
  error instanceof RequestError && error.status === 404 && isTokenPath(error.request.url);

const pathOf = (url: string): string => {
  try {
    return new URL(url).pathname;
  } catch {
    return url;
  }
};
