/** What Leasehold writes to GitHub, each call once: repeating is decided by the outbox, which looks first. */

import { RequestError } from "@octokit/request-error";
import type { Client } from "./connection.ts";
import type { RepoAddress } from "./reads.ts";

const repoOf = ({ owner, name }: RepoAddress) => ({ owner, repo: name });

export async function postComment(
  client: Client,
  repo: RepoAddress,
  number: number,
  body: string,
): Promise<void> {
  await client.request("POST /repos/{owner}/{repo}/issues/{issue_number}/comments", {
    ...repoOf(repo),
    issue_number: number,
    body,
  });
}

/** Puts a label on an issue; one that is on it already stays, without an event. */
export async function addLabel(
  client: Client,
  repo: RepoAddress,
  number: number,
  label: string,
): Promise<void> {
  await client.request("POST /repos/{owner}/{repo}/issues/{issue_number}/labels", {
    ...repoOf(repo),
    issue_number: number,
    labels: [label],
  });
}

export async function closeIssue(
  client: Client,
  repo: RepoAddress,
  number: number,
  reason: "completed" | "not_planned",
): Promise<void> {
  await client.request("PATCH /repos/{owner}/{repo}/issues/{issue_number}", {
    ...repoOf(repo),
    issue_number: number,
    state: "closed",
    state_reason: reason,
  });
}

export async function reopenIssue(client: Client, repo: RepoAddress, number: number): Promise<void> {
  await client.request("PATCH /repos/{owner}/{repo}/issues/{issue_number}", {
    ...repoOf(repo),
    issue_number: number,
    state: "open",
  });
}

/** Makes a label definition. One that exists, in any case of letters, is left as it is. */
export async function createLabel(
  client: Client,
  repo: RepoAddress,
  label: { name: string; color: string; description: string },
): Promise<void> {
  try {
    await client.request("POST /repos/{owner}/{repo}/labels", { ...repoOf(repo), ...label });
  } catch (error) {
    const exists =
      error instanceof RequestError && error.status === 422 && /already_exists/.test(describe(error));
    if (!exists) throw error;
  }
}

const describe = (error: RequestError): string => JSON.stringify(error.response?.data ?? "") + error.message;
