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

/** GitHub's advice when it gives no time: at least a minute. */
const DEFAULT_RETRY_SECONDS = 60;

/** Reads an error of Octokit, of the network, or anything else. Errors that are not GitHub's count as transient. */
export function failureOf(error: unknown): GitHubFailure {
  if (!(error instanceof RequestError)) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "transient", status: null, retryAfterSeconds: null, message };
  }
  const { status } = error;
  const base = {
    status,
    message: `${error.request.method} ${pathOf(error.request.url)}: ${status} ${error.message}`,
  };
  const wait = retryAfterOf(error);
  if (wait !== null) return { ...base, kind: "rate_limited", retryAfterSeconds: wait };
  if (status === 401) return { ...base, kind: "unauthorized", retryAfterSeconds: null };
  if (status === 403) return { ...base, kind: "barred", retryAfterSeconds: null };
  const refused =
    status >= 400 && status < 500 && ![408, 409, 425].includes(status) && !isTokenPath(error.request.url);
  return { ...base, kind: refused ? "refused" : "transient", retryAfterSeconds: null };
}

/** Whether it was GitHub, or the way there, that failed, and not something of ours. */
export const isGitHubFailure = (error: unknown): boolean => error instanceof RequestError;

/** Whether GitHub said that the thing is not there (404) or is gone for good (410). */
export const isAbsent = (error: unknown): boolean =>
  error instanceof RequestError && (error.status === 404 || error.status === 410);

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

function retryAfterOf(error: RequestError): number | null {
  const headers = error.response?.headers ?? {};
  const limited = error.status === 429 || (error.status === 403 && /rate limit|abuse/i.test(error.message));
  const retryAfter = Number(headers["retry-after"]);
  if (Number.isFinite(retryAfter) && headers["retry-after"] !== undefined) return Math.max(1, retryAfter);
  if (headers["x-ratelimit-remaining"] === "0" && (error.status === 403 || error.status === 429)) {
    const reset = Number(headers["x-ratelimit-reset"]);
    const now = Date.parse(String(headers.date ?? "")) || Date.now();
    if (Number.isFinite(reset)) return Math.max(1, Math.ceil(reset - now / 1000));
  }
  return limited ? DEFAULT_RETRY_SECONDS : null;
}

const pathOf = (url: string): string => {
  try {
    return new URL(url).pathname;
  } catch {
    return url;
  }
};
