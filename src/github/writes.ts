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

/** Puts labels on an issue; those that are on it already stay, without an event. */
export async function addLabels(
  client: Client,
  repo: RepoAddress,
  number: number,
  labels: readonly string[],
): Promise<void> {
  await client.request("POST /repos/{owner}/{repo}/issues/{issue_number}/labels", {
    ...repoOf(repo),
    issue_number: number,
    labels: [...labels],
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

/** A concluded check run on a commit. */
export interface CheckRun {
  readonly name: string;
  readonly externalId: string;
  readonly head: string;
  readonly conclusion: "success" | "failure";
  readonly title: string;
  readonly summary: string;
}

const checkFields = ({ name, externalId, conclusion, title, summary }: CheckRun) => ({
  name,
  external_id: externalId,
  status: "completed" as const,
  conclusion,
  output: { title, summary },
});

/** Answers the new run's id. */
export async function createCheckRun(client: Client, repo: RepoAddress, run: CheckRun): Promise<number> {
  const { data } = await client.request("POST /repos/{owner}/{repo}/check-runs", {
    ...repoOf(repo),
    head_sha: run.head,
    ...checkFields(run),
  });
  return Number(data.id);
}

/** Answers its id. */
export async function updateCheckRun(
  client: Client,
  repo: RepoAddress,
  id: number,
  run: CheckRun,
): Promise<number> {
  await client.request("PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}", {
    ...repoOf(repo),
    check_run_id: id,
    ...checkFields(run),
  });
  return id;
}

const describe = (error: RequestError): string => JSON.stringify(error.response?.data ?? "") + error.message;
