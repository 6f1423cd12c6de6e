import { HttpError, notFound } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { commitJson, fileDiffJson } from "../payloads/git.ts";
import { branchJson, repositoryHtmlUrl, repositoryUrl } from "../payloads/repositories.ts";
import { nodeId } from "../payloads/times-and-ids.ts";
import { commitsBetween, diff, diffFromParent, mergeBase } from "../state/git.ts";
import type { Repository } from "../state/model.ts";
import { createBranch } from "../state/pushes.ts";
import type { World } from "../state/world.ts";
import { created, ok, param, type Reply, requiredString } from "./api-request.ts";
import { contents } from "./contents.ts";
import { page } from "./pagination.ts";
import { resolveRef } from "./resolve-ref.ts";
import { type RepositoryRequest, type Route, redirect, repositoryRoute } from "./route.ts";
import { tree } from "./trees.ts";

/** A comparison names at most this many files. */
const MAX_COMPARED_FILES = 300;

export const gitRoutes: Route[] = [
  repositoryRoute("GET", "/branches", "contents:read", (request) =>
    page(request, [...request.repository.branches], ([name, sha]) => ({
      name,
      commit: { sha, url: `${repositoryUrl(request.world, request.repository)}/commits/${sha}` },
      protected: false,
    })),
  ),
  repositoryRoute("GET", "/branches/:branch*", "contents:read", (request) => {
    const { world, repository } = request;
    const name = param(request, "branch");
    const renamed = repository.renamedBranches.get(name);
    if (renamed !== undefined) throw redirect(request, `/repositories/${repository.id}/branches/${renamed}`);
    const sha = repository.branches.get(name);
    if (sha === undefined) throw new HttpError(404, "Branch not found");
    const commit = world.commit(sha);
    return ok(branchJson(world, repository, name, commit, commitJson(world, repository, commit)));
  }),
  repositoryRoute("GET", "/git/ref/:ref*", "contents:read", (request) => {
    const branch = /^heads\/(.+)$/.exec(param(request, "ref"))?.[1] ?? "";
    const sha = request.repository.branches.get(branch);
    if (sha === undefined) throw notFound();
    return ok(refJson(request.world, request.repository, branch, sha));
  }),
  repositoryRoute("GET", "/git/trees/:sha*", "contents:read", tree),
  repositoryRoute("POST", "/git/refs", "contents:write", (request) => {
    const { world, actor, repository, body } = request;
    const ref = requiredString(body, "ref", "Reference");
    const sha = requiredString(body, "sha", "Reference");
    const branch = /^refs\/heads\/(.+)$/.exec(ref)?.[1];
    if (branch === undefined) throw new HttpError(422, "Reference name must start with refs/heads/ here");
    createBranch(world, actor, repository, branch, sha);
    return created(refJson(world, repository, branch, sha));
  }),
  repositoryRoute("GET", "/contents", "contents:read", (request) => contents(request, "")),
  repositoryRoute("GET", "/contents/:path*", "contents:read", (request) =>
    contents(request, param(request, "path")),
  ),
  repositoryRoute("GET", "/compare/:basehead*", "contents:read", compare),
  repositoryRoute("GET", "/commits", "contents:read", (request) => {
    const { world, repository, query } = request;
    const sha = resolveRef(request, query.get("sha") ?? repository.defaultBranch);
    const newestFirst = commitsBetween(world, null, sha).reverse();
    return page(request, newestFirst, (commit) => commitJson(world, repository, commit));
  }),
  repositoryRoute("GET", "/commits/:ref*", "contents:read", (request) => {
    const { world, repository } = request;
    const commit = world.commit(resolveRef(request, param(request, "ref")));
    const files = diffFromParent(world, commit).map((row) =>
      fileDiffJson(world, repository, row, commit.sha),
    );
    return ok({ ...commitJson(world, repository, commit), files });
  }),
];

function refJson(world: World, repository: Repository, branch: string, sha: string): JsonObject {
  const url = repositoryUrl(world, repository);
  return {
    ref: `refs/heads/${branch}`,
    node_id: nodeId("REF", `${repository.id}:${branch}`),
    url: `${url}/git/refs/heads/${branch}`,
    object: { sha, type: "commit", url: `${url}/git/commits/${sha}` },
  };
}

/** Three dots: from the merge base. The commits are paged, the files are not, and stop at 300. */
function compare(request: RepositoryRequest): Reply {
  const { world, repository } = request;
  const basehead = param(request, "basehead");
  const [baseRef, headRef, rest] = basehead.split("...");
  if (!baseRef || !headRef || rest !== undefined) throw notFound();
  const base = world.commit(resolveRef(request, baseRef));
  const head = world.commit(resolveRef(request, headRef));
  const common = mergeBase(world, base.sha, head.sha);
  if (!common) throw new HttpError(404, `No common ancestor between ${baseRef} and ${headRef}.`);
  const ahead = commitsBetween(world, base.sha, head.sha);
  const behind = commitsBetween(world, head.sha, base.sha);
  const { body: commits = [], headers = {} } = page(request, ahead, (commit) =>
    commitJson(world, repository, commit),
  );
  const isFirstPage = (request.query.get("page") ?? "1") === "1";
  const files = isFirstPage ? diff(common.files, head.files).slice(0, MAX_COMPARED_FILES) : [];
  const html = `${repositoryHtmlUrl(repository)}/compare/${basehead}`;
  const comparison: JsonObject = {
    url: `${repositoryUrl(world, repository)}/compare/${basehead}`,
    html_url: html,
    permalink_url: html,
    diff_url: `${html}.diff`,
    patch_url: `${html}.patch`,
    base_commit: commitJson(world, repository, base),
    merge_base_commit: commitJson(world, repository, common),
    status: compareStatus(ahead.length, behind.length),
    ahead_by: ahead.length,
    behind_by: behind.length,
    total_commits: ahead.length,
    commits,
    files: files.map((row) => fileDiffJson(world, repository, row, head.sha)),
  };
  return { status: 200, body: comparison, headers };
}

function compareStatus(ahead: number, behind: number): string {
  if (ahead === 0 && behind === 0) return "identical";
  if (ahead > 0 && behind > 0) return "diverged";
  return ahead > 0 ? "ahead" : "behind";
}
