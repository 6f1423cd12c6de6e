/** Links between issues, written to GitHub. Idempotent: one that is there already is what was wanted. */

import { RequestError } from "@octokit/request-error";
import type { Client } from "./connection.ts";
import { listBlockedBy, listSubIssues } from "./link-reads.ts";
import type { RepoAddress } from "./reads.ts";

/**
 * Makes an issue (by GitHub's id) a sub-issue. An issue that has another parent, a pull request, and the hundred and
 * first sub-issue are refused by GitHub; that is thrown.
 */
export async function addSubIssue(
  client: Client,
  repo: RepoAddress,
  parent: number,
  subIssueId: number,
): Promise<void> {
  await unlessThere(
    () =>
      client.request("POST /repos/{owner}/{repo}/issues/{issue_number}/sub_issues", {
        owner: repo.owner,
        repo: repo.name,
        issue_number: parent,
        sub_issue_id: subIssueId,
      }),
    async () => (await listSubIssues(client, repo, parent)).some(({ id }) => id === subIssueId),
  );
}

/** Lets an issue be blocked by another (by GitHub's id), which may be in another repository. */
export async function addBlockedBy(
  client: Client,
  repo: RepoAddress,
  blocked: number,
  blockerId: number,
): Promise<void> {
  await unlessThere(
    () =>
      client.request("POST /repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by", {
        owner: repo.owner,
        repo: repo.name,
        issue_number: blocked,
        issue_id: blockerId,
      }),
    async () => (await listBlockedBy(client, repo, blocked)).some(({ id }) => id === blockerId),
  );
}

/** GitHub words its refusals as it likes; whether the link is there can be looked up. */
async function unlessThere(add: () => Promise<unknown>, isThere: () => Promise<boolean>): Promise<void> {
  try {
    await add();
  } catch (error) {
    const isRefusal = error instanceof RequestError && error.status === 422;
    if (!isRefusal || !(await isThere())) throw error;
  }
}
