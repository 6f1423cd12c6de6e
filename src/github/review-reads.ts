/** What Leasehold reads of the checks and reviews of pull requests. Each function is one endpoint (`docs/github.md`). */

import { z } from "zod";
import { GitHubCheckSuite, GitHubReview } from "../contract/github-payloads.ts";
import { cleanJson } from "../domain/clean-text.ts";
import type { Client } from "./connection.ts";
import type { RepoAddress } from "./reads.ts";

const repoOf = ({ owner, name }: RepoAddress) => ({ owner, repo: name });
const PAGE = 100;
const parse = <T>(schema: z.ZodType<T>, data: unknown): T => schema.parse(cleanJson(data));

/** The check suites of a commit: at most a page, for there is one an App. */
export async function listCheckSuites(
  client: Client,
  repo: RepoAddress,
  sha: string,
): Promise<GitHubCheckSuite[]> {
  const { data } = await client.request("GET /repos/{owner}/{repo}/commits/{ref}/check-suites", {
    ...repoOf(repo),
    ref: sha,
    per_page: PAGE,
  });
  return parse(z.object({ check_suites: z.array(GitHubCheckSuite) }), data).check_suites;
}

const CheckRuns = z.object({
  check_runs: z.array(z.object({ id: z.int(), external_id: z.string().nullish() })),
});

/** The App's own check run of that name and external id on a commit, or null. */
export async function findCheckRun(
  client: Client,
  repo: RepoAddress,
  wanted: { head: string; name: string; externalId: string; appId: number },
): Promise<number | null> {
  const { data } = await client.request("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", {
    ...repoOf(repo),
    ref: wanted.head,
    check_name: wanted.name,
    app_id: wanted.appId,
    filter: "all",
    per_page: PAGE,
  });
  const { check_runs } = parse(CheckRuns, data);
  return check_runs.findLast(({ external_id }) => external_id === wanted.externalId)?.id ?? null;
}

/** The reviews of a pull request, oldest first. */
export async function listReviews(
  client: Client,
  repo: RepoAddress,
  number: number,
): Promise<GitHubReview[]> {
  const reviews = await client.paginate("GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews", {
    ...repoOf(repo),
    pull_number: number,
    per_page: PAGE,
  });
  return parse(z.array(GitHubReview), reviews);
}
