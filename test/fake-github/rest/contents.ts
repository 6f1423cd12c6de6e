import { HttpError } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { repositoryHtmlUrl, repositoryUrl } from "../payloads/repositories.ts";
import { blobSha, treeSha } from "../state/git.ts";
import type { FileTree } from "../state/model.ts";
import { ok, type Reply } from "./api-request.ts";
import { resolveRef } from "./resolve-ref.ts";
import type { RepositoryRequest } from "./route.ts";

/** A file with its text in base64, or the text alone if that is accepted, or the list of what is in a folder. */
export function contents(request: RepositoryRequest, path: string): Reply {
  const ref = request.query.get("ref") ?? request.repository.defaultBranch;
  const { files } = request.world.commit(resolveRef(request, ref));
  const text = files.get(path);
  if (text !== undefined && request.accept.includes("raw")) {
    return {
      status: 200,
      body: text,
      headers: { "content-type": "application/vnd.github.raw; charset=utf-8" },
    };
  }
  if (text !== undefined) {
    return ok({
      ...entry(request, ref, path, "file", blobSha(text), Buffer.byteLength(text)),
      encoding: "base64",
      content: Buffer.from(text)
        .toString("base64")
        .replace(/.{60}/g, (line) => `${line}\n`),
    });
  }
  const children = listFolder(request, ref, files, path === "" ? "" : `${path}/`);
  if (children.length === 0) throw new HttpError(404, "Not Found");
  return ok(children);
}

function listFolder(request: RepositoryRequest, ref: string, files: FileTree, prefix: string): JsonObject[] {
  const rows = new Map<string, JsonObject>();
  for (const [path, text] of files) {
    if (!path.startsWith(prefix)) continue;
    const [name = "", ...below] = path.slice(prefix.length).split("/");
    if (rows.has(name)) continue;
    const child = `${prefix}${name}`;
    const row =
      below.length > 0
        ? entry(request, ref, child, "dir", treeSha(files, `${child}/`), 0)
        : entry(request, ref, child, "file", blobSha(text), Buffer.byteLength(text));
    rows.set(name, row);
  }
  return [...rows.values()];
}

function entry(
  { world, repository }: RepositoryRequest,
  ref: string,
  path: string,
  type: "file" | "dir",
  sha: string,
  size: number,
): JsonObject {
  const url = `${repositoryUrl(world, repository)}/contents/${path}?ref=${ref}`;
  const kind = type === "file" ? "blob" : "tree";
  const gitUrl = `${repositoryUrl(world, repository)}/git/${kind}s/${sha}`;
  const html = `${repositoryHtmlUrl(repository)}/${kind}/${ref}/${path}`;
  return {
    type,
    name: path.split("/").at(-1) ?? path,
    path,
    sha,
    size,
    url,
    git_url: gitUrl,
    html_url: html,
    download_url: type === "file" ? `${repositoryHtmlUrl(repository)}/raw/${ref}/${path}` : null,
    _links: { self: url, git: gitUrl, html },
  };
}
