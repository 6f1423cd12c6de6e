import { ProbotOctokit } from "probot";
import type { FakeGitHub } from "./fake-github.ts";

/** Probot's own client, as the App under test uses it, without its waiting and repeating. */
export function appOctokit(github: FakeGitHub, installationId?: number) {
  return new ProbotOctokit({
    baseUrl: github.url,
    auth: {
      appId: github.app.id,
      privateKey: github.app.privateKey,
      ...(installationId === undefined ? {} : { installationId }),
    },
    throttle: { enabled: false },
    retry: { enabled: false },
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
  });
}

/** The status of a request that is expected to fail. */
export async function statusOf(request: Promise<unknown>): Promise<number> {
  try {
    await request;
  } catch (error) {
    if (error instanceof Error && "status" in error && typeof error.status === "number") return error.status;
    throw error;
  }
  throw new Error("the request was expected to fail");
}
