/** What a failed request to GitHub means for whoever made it. */

import { RequestError } from "@octokit/request-error";

export interface GitHubFailure {
  /**
   * `rate_limited`: wait as told. `transient`: try again later. `refused`: GitHub will not do it, now or
   * later (not found, gone, archived, suspended, invalid). `unauthorized`: the key or token is not accepted.
   */
  readonly kind: "rate_limited" | "transient" | "refused" | "unauthorized";
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
  const refused = status >= 400 && status < 500 && status !== 408 && status !== 409 && status !== 425;
  return { ...base, kind: refused ? "refused" : "transient", retryAfterSeconds: null };
}

/** Whether GitHub said that the thing is not there (404) or is gone for good (410). */
export const isAbsent = (error: unknown): boolean =>
  error instanceof RequestError && (error.status === 404 || error.status === 410);

function retryAfterOf(error: RequestError): number | null {
  const headers = error.response?.headers ?? {};
  const limited = error.status === 429 || (error.status === 403 && /rate limit|abuse/i.test(error.message));
  const retryAfter = Number(headers["retry-after"]);
  if (Number.isFinite(retryAfter) && headers["retry-after"] !== undefined) return Math.max(1, retryAfter);
  if (headers["x-ratelimit-remaining"] === "0" && (error.status === 403 || error.status === 429)) {
    const reset = Number(headers["x-ratelimit-reset"]);
    const now = Date.parse(String(headers["date"] ?? "")) || Date.now();
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
