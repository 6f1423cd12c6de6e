/** Reading what is in a repository at a commit: the ids of its files and directories, without their text. */

import { RequestError } from "@octokit/request-error";
import { z } from "zod";
import type { TreeEntry, TreeParts } from "../domain/anchored-tree.ts";
import type { Client } from "./connection.ts";
import { isAbsent } from "./failure.ts";
import { type RepoAddress, readRepository } from "./reads.ts";

const Ref = z.object({ object: z.object({ sha: z.string() }) });

/** The commit that a branch is at; null: there is no such branch, or the repository is empty (409). */
export async function readBranchHead(
  client: Client,
  repo: RepoAddress,
  branch: string,
): Promise<string | null> {
  try {
    const { data } = await client.request("GET /repos/{owner}/{repo}/git/ref/{ref}", {
      owner: repo.owner,
      repo: repo.name,
      ref: `heads/${branch}`,
    });
    return Ref.parse(data).object.sha;
  } catch (error) {
    if (error instanceof RequestError && error.status === 409) return null;
    if (!isAbsent(error)) throw error;
    // GitHub says the same of a repository that the App may not read: then nothing is known of the branch.
    await readRepository(client, repo);
    return null;
  }
}

const Tree = z.object({
  tree: z.array(z.object({ path: z.string(), type: z.string(), sha: z.string() })),
  truncated: z.boolean().nullish(),
});

/** No repository needs so many; one that does is not asked for without end. */
const MOST_READS = 500;

/** What is anchored cannot be read at a bearable cost; trying again soon would not help. */
export class TreeTooLarge extends Error {
  constructor(why: string) {
    super(why);
    this.name = "TreeTooLarge";
  }
}

/**
 * Everything in the tree of a commit, in one request. GitHub lists at most 100,000 entries (or 7 MB) at once; of a larger
 * tree only `parts` are read, directory by directory. Null: there is no such commit any more.
 */
export async function readTree(
  client: Client,
  repo: RepoAddress,
  commit: string,
  parts: TreeParts,
): Promise<TreeEntry[] | null> {
  const reader = new TreeReader(client, repo);
  try {
    const all = await reader.list(commit, "", true);
    return all.truncated ? await reader.parts(commit, parts) : all.entries;
  } catch (error) {
    const isGone = isAbsent(error) || (error instanceof RequestError && error.status === 422);
    if (!isGone) throw error;
    return null;
  }
}

class TreeReader {
  readonly #client: Client;
  readonly #repo: RepoAddress;
  #left = MOST_READS;

  constructor(client: Client, repo: RepoAddress) {
    this.#client = client;
    this.#repo = repo;
  }

  /** `recursive`: with all that is below, as far as GitHub lists it. */
  async list(sha: string, under: string, recursive: boolean) {
    this.#left -= 1;
    if (this.#left < 0)
      throw new TreeTooLarge(`more than ${MOST_READS} requests would be needed to read the tree`);
    const { data } = await this.#client.request("GET /repos/{owner}/{repo}/git/trees/{tree_sha}", {
      owner: this.#repo.owner,
      repo: this.#repo.name,
      tree_sha: sha,
      // Any value at all means yes, so that it is left out.
      ...(recursive ? { recursive: "1" } : {}),
    });
    const { tree, truncated } = Tree.parse(data);
    const prefix = under === "" ? "" : `${under}/`;
    const entries = tree.map((entry) => ({ ...entry, path: prefix + entry.path }));
    return { entries, truncated: truncated === true };
  }

  async parts(commit: string, { levels, whole }: TreeParts): Promise<TreeEntry[]> {
    const found = new Map<string, TreeEntry>();
    for (const directory of levels) {
      const sha = directory === "" ? commit : directoryAt(found, directory);
      if (sha === null) continue;
      for (const entry of await this.#level(sha, directory)) found.set(entry.path, entry);
    }
    for (const directory of whole) {
      const sha = directory === "" ? commit : directoryAt(found, directory);
      if (sha === null) continue;
      for (const entry of await this.#below(sha, directory)) found.set(entry.path, entry);
    }
    return [...found.values()];
  }

  async #level(sha: string, under: string): Promise<TreeEntry[]> {
    const { entries, truncated } = await this.list(sha, under, false);
    if (truncated) throw new TreeTooLarge(`the directory ${under || "/"} is too large for GitHub to list`);
    return entries;
  }

  /** Where a directory is too large at once, its directories are read one by one. */
  async #below(sha: string, under: string): Promise<TreeEntry[]> {
    const { entries, truncated } = await this.list(sha, under, true);
    if (!truncated) return entries;
    const found = await this.#level(sha, under);
    const directories = found.filter(({ type }) => type === "tree");
    for (const directory of directories) found.push(...(await this.#below(directory.sha, directory.path)));
    return found;
  }
}

function directoryAt(found: ReadonlyMap<string, TreeEntry>, path: string): string | null {
  const entry = found.get(path);
  return entry?.type === "tree" ? entry.sha : null;
}
