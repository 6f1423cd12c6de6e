/** GitHub's own links between issues, as its API lists them. They may lead into repositories where the App is not. */

import { z } from "zod";
import { GitHubIssue } from "../contract/github-payloads.ts";
import { LinkedIssue } from "../contract/link-payloads.ts";
import { cleanJson } from "../domain/clean-text.ts";
import type { Client } from "./connection.ts";
import { isAbsent, isUnchanged } from "./failure.ts";
import type { RepoAddress } from "./reads.ts";

const addressOf = ({ owner, name }: RepoAddress, number: number) => ({
  owner,
  repo: name,
  issue_number: number,
});
const PAGE = 100;

const parseAll = (rows: unknown): LinkedIssue[] => z.array(LinkedIssue).parse(cleanJson(rows));

/** What the issue is blocked by. */
export async function listBlockedBy(client: Client, repo: RepoAddress, number: number) {
  return parseAll(
    await client.paginate("GET /repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by", {
      ...addressOf(repo, number),
      per_page: PAGE,
    }),
  );
}

/**
 * What the issue is blocked by, unless it is as it was when GitHub gave the answer with this mark: then null, which GitHub
 * does not count. A list of more than a page has no mark.
 */
export async function readBlockedBy(
  client: Client,
  repo: RepoAddress,
  number: number,
  etag: string | null,
): Promise<{ rows: LinkedIssue[]; etag: string | null } | null> {
  try {
    const { data, headers } = await client.request(
      "GET /repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by",
      {
        ...addressOf(repo, number),
        per_page: PAGE,
        headers: etag === null ? {} : { "if-none-match": etag },
      },
    );
    const rows = parseAll(data);
    if (rows.length < PAGE) return { rows, etag: headers.etag ?? null };
    return { rows: await listBlockedBy(client, repo, number), etag: null };
  } catch (error) {
    if (isUnchanged(error)) return null;
    throw error;
  }
}

/** What the issue blocks. */
export async function listBlocking(client: Client, repo: RepoAddress, number: number) {
  return parseAll(
    await client.paginate("GET /repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocking", {
      ...addressOf(repo, number),
      per_page: PAGE,
    }),
  );
}

export async function listSubIssues(client: Client, repo: RepoAddress, number: number) {
  return parseAll(
    await client.paginate("GET /repos/{owner}/{repo}/issues/{issue_number}/sub_issues", {
      ...addressOf(repo, number),
      per_page: PAGE,
    }),
  );
}

/** The issue's parent, or null when it has none. */
export async function readParent(
  client: Client,
  repo: RepoAddress,
  number: number,
): Promise<LinkedIssue | null> {
  try {
    const { data } = await client.request("GET /repos/{owner}/{repo}/issues/{issue_number}/parent", {
      ...addressOf(repo, number),
    });
    return LinkedIssue.parse(cleanJson(data));
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

/** One issue, or null when it is not there (any more). A transferred one is answered by where it went, and is not there. */
export async function readIssue(
  client: Client,
  repo: RepoAddress,
  number: number,
): Promise<GitHubIssue | null> {
  try {
    const { data } = await client.request(
      "GET /repos/{owner}/{repo}/issues/{issue_number}",
      addressOf(repo, number),
    );
    const issue = GitHubIssue.parse(cleanJson(data));
    const path = `/${repo.owner}/${repo.name}/`.toLowerCase();
    return issue.number === number && issue.html_url.toLowerCase().includes(path) ? issue : null;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}
