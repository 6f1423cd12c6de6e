/** What became of each request to GitHub, without anything of what it was about. */

import { RequestError } from "@octokit/request-error";

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

export type ReportRequest = (request: GitHubRequest) => void;

interface Answered {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** Sends, and reports what came of it. */
export async function reported<T extends Answered>(
  report: ReportRequest,
  request: Pick<GitHubRequest, "method" | "endpoint" | "installationId">,
  send: () => Promise<T>,
): Promise<T> {
  const tell = ({ status, headers }: Answered): void => {
    const remaining = Number(headers?.["x-ratelimit-remaining"] ?? Number.NaN);
    report({ ...request, status: status ?? null, remaining: Number.isFinite(remaining) ? remaining : null });
  };
  try {
    const answer = await send();
    tell(answer);
    return answer;
  } catch (error) {
    // Where nothing was answered, Octokit makes a 500 of its own.
    tell(error instanceof RequestError ? (error.response ?? {}) : {});
    throw error;
  }
}
