/** Listing branches, and making one where the App may. */

import { RequestError } from "@octokit/request-error";
import { z } from "zod";
import type { Client } from "./connection.ts";
import { isAbsent } from "./failure.ts";
import type { RepoAddress } from "./reads.ts";

const repoOf = ({ owner, name }: RepoAddress) => ({ owner, repo: name });
const Ref = z.object({ object: z.object({ sha: z.string() }) });
const Granted = z.object({ permissions: z.record(z.string(), z.string()).optional() });

/** The commit that a branch is at; null: there is no such branch. */
async function headOf(client: Client, repo: RepoAddress, branch: string): Promise<string | null> {
  try {
    const { data } = await client.request("GET /repos/{owner}/{repo}/git/ref/{ref}", {
      ...repoOf(repo),
      ref: `heads/${branch}`,
    });
    return Ref.parse(data).object.sha;
  } catch (error) {
    if (isAbsent(error)) return null;
    // An empty repository.
    if (error instanceof RequestError && error.status === 409) return null;
    throw error;
  }
}

const Branches = z.array(z.object({ name: z.string(), commit: z.object({ sha: z.string() }) }));

/** Every branch with the commit that it is at. */
export async function listBranches(client: Client, repo: RepoAddress): Promise<ReadonlyMap<string, string>> {
  const rows = await client.paginate("GET /repos/{owner}/{repo}/branches", {
    ...repoOf(repo),
    per_page: 100,
  });
  return new Map(Branches.parse(rows).map(({ name, commit }) => [name, commit.sha]));
}

/** Makes the branch where `from` is. False: the App may not write contents, or `from` is not there. */
export async function ensureBranch(
  client: Client,
  repo: RepoAddress,
  branch: string,
  from: string,
): Promise<boolean> {
  if ((await headOf(client, repo, branch)) !== null) return true;
  const { permissions } = Granted.parse(await client.auth({ type: "installation" }));
  if (permissions?.contents !== "write") return false;
  const sha = await headOf(client, repo, from);
  if (sha === null) return false;
  try {
    await client.request("POST /repos/{owner}/{repo}/git/refs", {
      ...repoOf(repo),
      ref: `refs/heads/${branch}`,
      sha,
    });
    return true;
  } catch (error) {
    // Made meanwhile, or a rule of the repository forbids it: only a look tells which.
    const isRefused = error instanceof RequestError && (error.status === 422 || error.status === 403);
    if (!isRefused) throw error;
    return (await headOf(client, repo, branch)) !== null;
  }
}
