/** Opening issues on GitHub, and finding those that were opened although the answer was lost. */

import { GitHubIssue } from "../contract/github-payloads.ts";
import { cleanJson } from "../domain/clean-text.ts";
import { isThatIssue, type NewIssue } from "../domain/issue-mark.ts";
import type { Client } from "./connection.ts";
import type { RepoAddress } from "./reads.ts";

const repoOf = ({ owner, name }: RepoAddress) => ({ owner, repo: name });
const issueOf = (data: unknown): GitHubIssue => GitHubIssue.parse(cleanJson(data));

/** Opens an issue. Once: whoever repeats it looks first. */
export async function createIssue(
  client: Client,
  repo: RepoAddress,
  issue: NewIssue,
  labels: readonly string[],
): Promise<GitHubIssue> {
  const { data } = await client.request("POST /repos/{owner}/{repo}/issues", {
    ...repoOf(repo),
    title: issue.title,
    body: issue.body,
    labels: [...labels],
  });
  return issueOf(data);
}

export async function readIssue(client: Client, repo: RepoAddress, number: number): Promise<GitHubIssue> {
  const { data } = await client.request("GET /repos/{owner}/{repo}/issues/{issue_number}", {
    ...repoOf(repo),
    issue_number: number,
  });
  return issueOf(data);
}

/** The issue that this App opened since then with that text; null: GitHub lists none. */
export async function findOwnIssue(
  client: Client,
  repo: RepoAddress,
  wanted: { sent: NewIssue; appId: number; since: Date },
): Promise<GitHubIssue | null> {
  const pages = client.paginate.iterator("GET /repos/{owner}/{repo}/issues", {
    ...repoOf(repo),
    state: "all",
    sort: "created",
    direction: "desc",
    since: wanted.since.toISOString(),
    per_page: 100,
  });
  for await (const { data } of pages) {
    for (const raw of data as unknown[]) {
      const issue = issueOf(raw);
      if (issue.pull_request || issue.performed_via_github_app?.id !== wanted.appId) continue;
      if (isThatIssue({ title: issue.title, body: issue.body ?? null }, wanted.sent)) return issue;
    }
  }
  return null;
}
