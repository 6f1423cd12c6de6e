/** What Leasehold reads of pull requests. Each function is one endpoint (`docs/github.md`). */

import { z } from "zod";
import { GitHubPull } from "../contract/github-payloads.ts";
import type { Client } from "./connection.ts";
import { PAGE, type Page, pageOf, parse, type RepoAddress, repoOf } from "./reads.ts";

export async function readPull(client: Client, repo: RepoAddress, number: number): Promise<GitHubPull> {
  const { data } = await client.request("GET /repos/{owner}/{repo}/pulls/{pull_number}", {
    ...repoOf(repo),
    pull_number: number,
  });
  return parse(GitHubPull, data);
}

const Commit = z.object({ commit: z.object({ message: z.string().nullish() }) });

/** The messages of a pull request's commits (GitHub lists at most 250). */
export async function readPullCommits(client: Client, repo: RepoAddress, number: number): Promise<string[]> {
  const commits = await client.paginate("GET /repos/{owner}/{repo}/pulls/{pull_number}/commits", {
    ...repoOf(repo),
    pull_number: number,
    per_page: PAGE,
  });
  return (commits as unknown[]).map((commit) => parse(Commit, commit).commit.message ?? "");
}

/** Open pull requests, oldest first. */
export async function listOpenPulls(
  client: Client,
  repo: RepoAddress,
  page: number,
): Promise<Page<GitHubPull>> {
  const { data } = await client.request("GET /repos/{owner}/{repo}/pulls", {
    ...repoOf(repo),
    state: "open",
    sort: "created",
    direction: "asc",
    per_page: PAGE,
    page,
  });
  return pageOf(GitHubPull, data);
}

/** Pull requests in any state, those first that changed last: one that changes meanwhile moves no other out of sight. */
export async function listPullsByChange(
  client: Client,
  repo: RepoAddress,
  page: number,
): Promise<Page<GitHubPull>> {
  const { data } = await client.request("GET /repos/{owner}/{repo}/pulls", {
    ...repoOf(repo),
    state: "all",
    sort: "updated",
    direction: "desc",
    per_page: PAGE,
    page,
  });
  return pageOf(GitHubPull, data);
}

/** The closed pull requests that changed last; enough to find one that was merged a moment ago. */
export async function listClosedPulls(client: Client, repo: RepoAddress): Promise<GitHubPull[]> {
  const { data } = await client.request("GET /repos/{owner}/{repo}/pulls", {
    ...repoOf(repo),
    state: "closed",
    sort: "updated",
    direction: "desc",
    per_page: 30,
  });
  return parse(z.array(GitHubPull), data);
}
