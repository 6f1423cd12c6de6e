import { notFound } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { repositoryUrl } from "../payloads/repositories.ts";
import { blobSha, treeSha } from "../state/git.ts";
import type { FileTree } from "../state/model.ts";
import { ok, param, type Reply } from "./api-request.ts";
import type { RepositoryRequest } from "./route.ts";

/** GitHub lists at most so many entries at once, and says so. */
const MAX_ENTRIES = 100_000;

/** The entries of a tree, named by its own sha or by a commit's; `recursive`, whatever its value, adds all below. */
export function tree(request: RepositoryRequest): Reply {
  const { world, repository, query } = request;
  const asked = param(request, "sha");
  const { files, under } = find(request, asked);
  const most = repository.maxTreeEntries ?? MAX_ENTRIES;
  const entries = list(request, files, under, query.has("recursive"));
  return ok({
    sha: asked,
    url: `${repositoryUrl(world, repository)}/git/trees/${asked}`,
    tree: entries.slice(0, most),
    truncated: entries.length > most,
  });
}

function find({ world, repository }: RepositoryRequest, asked: string): { files: FileTree; under: string } {
  const sha = repository.branches.get(asked) ?? asked;
  const commit = world.commits.get(sha);
  if (commit) return { files: commit.files, under: "" };
  for (const { files } of world.commits.values()) {
    for (const under of directories(files)) if (treeSha(files, under) === sha) return { files, under };
  }
  throw notFound();
}

/** With a slash at the end; the root is empty. */
function directories(files: FileTree): Set<string> {
  const found = new Set<string>([""]);
  for (const path of files.keys()) {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1))
      found.add(path.slice(0, at + 1));
  }
  return found;
}

function list(
  { world, repository }: RepositoryRequest,
  files: FileTree,
  under: string,
  recursive: boolean,
): JsonObject[] {
  const git = `${repositoryUrl(world, repository)}/git`;
  const rows: JsonObject[] = [];
  const add = (path: string, row: JsonObject) => {
    const isWanted = path.startsWith(under) && (recursive || !path.slice(under.length).includes("/"));
    if (isWanted) rows.push({ path: path.slice(under.length), ...row });
  };
  for (const directory of directories(files)) {
    if (!directory.startsWith(under) || directory === under) continue;
    const sha = treeSha(files, directory);
    add(directory.slice(0, -1), { mode: "040000", type: "tree", sha, url: `${git}/trees/${sha}` });
  }
  for (const [path, text] of files) {
    const sha = blobSha(text);
    const size = Buffer.byteLength(text);
    add(path, { mode: "100644", type: "blob", sha, size, url: `${git}/blobs/${sha}` });
  }
  return rows.sort((a, b) => (String(a.path) < String(b.path) ? -1 : 1));
}
