/** What became of an issue that GitHub does not list. */

import { RequestError } from "@octokit/request-error";
import { z } from "zod";
import { GitHubIssue } from "../contract/github-payloads.ts";
import { cleanJson } from "../domain/clean-text.ts";
import type { Client } from "./connection.ts";
import { isDeleted } from "./failure.ts";
import { dateOf, type RepoAddress } from "./reads.ts";

export type IssueFate =
  | { readonly kind: "there"; readonly issue: GitHubIssue }
  /** `repositoryId`: null where GitHub named the repository only. */
  | {
      readonly kind: "moved";
      readonly to: {
        readonly repositoryId: number | null;
        readonly fullName: string;
        readonly number: number;
        readonly id: number;
      };
    }
  | { readonly kind: "deleted" }
  /** GitHub shows nothing: it went where the App may not look, or it is so new that GitHub does not know it everywhere. */
  | { readonly kind: "absent"; readonly asOf: Date };

const Placed = z.object({ repository_url: z.string().nullish() });

/** Asks for the issue. A transferred one is answered from where it went. */
export async function readFate(client: Client, repo: RepoAddress, number: number): Promise<IssueFate> {
  try {
    const { data, url } = await client.request("GET /repos/{owner}/{repo}/issues/{issue_number}", {
      owner: repo.owner,
      repo: repo.name,
      issue_number: number,
    });
    const issue = GitHubIssue.parse(cleanJson(data));
    const fullName = /\/repos\/([^/]+\/[^/]+)$/.exec(Placed.parse(data).repository_url ?? "")?.[1] ?? "";
    const isHere = fullName.toLowerCase() === `${repo.owner}/${repo.name}`.toLowerCase();
    if (issue.number === number && isHere) return { kind: "there", issue };
    const id = /\/repositories\/(\d+)\//.exec(url)?.[1];
    const repositoryId = id === undefined ? null : Number(id);
    return { kind: "moved", to: { repositoryId, fullName, number: issue.number, id: issue.id } };
  } catch (error) {
    if (isDeleted(error)) return { kind: "deleted" };
    if (!(error instanceof RequestError) || error.status !== 404) throw error;
    return { kind: "absent", asOf: dateOf(error.response?.headers ?? {}) };
  }
}
