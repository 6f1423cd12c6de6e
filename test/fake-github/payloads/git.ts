import type { JsonObject } from "../json.ts";
import { blobSha, diffFromParent, type FileDiff, treeSha } from "../state/git.ts";
import type { Account, Commit, Repository } from "../state/model.ts";
import type { World } from "../state/world.ts";
import { authorJson } from "./accounts.ts";
import { repositoryHtmlUrl, repositoryUrl } from "./repositories.ts";
import { isoTime, nodeId } from "./times-and-ids.ts";

/** A commit as the REST API shows it. */
export function commitJson(world: World, repository: Repository, commit: Commit): JsonObject {
  const url = `${repositoryUrl(world, repository)}/commits/${commit.sha}`;
  const tree = treeSha(commit.files);
  const who = { ...gitPerson(commit.author), date: isoTime(commit.at) };
  return {
    sha: commit.sha,
    node_id: nodeId("C", commit.sha),
    commit: {
      author: who,
      committer: who,
      message: commit.message,
      tree: { sha: tree, url: `${repositoryUrl(world, repository)}/git/trees/${tree}` },
      url: `${repositoryUrl(world, repository)}/git/commits/${commit.sha}`,
      comment_count: 0,
      verification: {
        verified: false,
        reason: "unsigned",
        signature: null,
        payload: null,
        verified_at: null,
      },
    },
    url,
    html_url: `${repositoryHtmlUrl(repository)}/commit/${commit.sha}`,
    comments_url: `${url}/comments`,
    author: authorJson(world, commit.author),
    committer: authorJson(world, commit.author),
    parents: commit.parents.map((sha) => ({
      sha,
      url: `${repositoryUrl(world, repository)}/commits/${sha}`,
      html_url: `${repositoryHtmlUrl(repository)}/commit/${sha}`,
    })),
  };
}

/** A commit as `push` shows it. */
export function pushedCommitJson(world: World, repository: Repository, commit: Commit): JsonObject {
  const rows = diffFromParent(world, commit);
  const paths = (status: FileDiff["status"]) =>
    rows.filter((row) => row.status === status).map((row) => row.path);
  const who = { ...gitPerson(commit.author), username: commit.author.login };
  return {
    id: commit.sha,
    tree_id: treeSha(commit.files),
    distinct: true,
    message: commit.message,
    timestamp: isoTime(commit.at),
    url: `${repositoryHtmlUrl(repository)}/commit/${commit.sha}`,
    author: who,
    committer: who,
    added: paths("added"),
    removed: paths("removed"),
    modified: paths("modified"),
  };
}

export function simpleCommitJson(commit: Commit): JsonObject {
  const who = gitPerson(commit.author);
  return {
    id: commit.sha,
    tree_id: treeSha(commit.files),
    message: commit.message,
    timestamp: isoTime(commit.at),
    author: who,
    committer: who,
  };
}

export function fileDiffJson(world: World, repository: Repository, row: FileDiff, ref: string): JsonObject {
  const html = repositoryHtmlUrl(repository);
  const additions = countLines(row.after);
  const deletions = countLines(row.before);
  return {
    sha: blobSha(row.after ?? row.before ?? ""),
    filename: row.path,
    status: row.status,
    additions,
    deletions,
    changes: additions + deletions,
    blob_url: `${html}/blob/${ref}/${row.path}`,
    raw_url: `${html}/raw/${ref}/${row.path}`,
    contents_url: `${repositoryUrl(world, repository)}/contents/${row.path}?ref=${ref}`,
  };
}

export function gitPerson(account: Account): { name: string; email: string } {
  return { name: account.login, email: `${account.id}+${account.login}@users.noreply.github.com` };
}

export function countLines(text: string | null): number {
  return text === null || text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}
