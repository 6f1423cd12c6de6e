import { HttpError, malformed } from "../http-error.ts";
import { commitJson, fileDiffJson } from "../payloads/git.ts";
import { pullCommits, pullFiles, pullJson, pullRowJson, reviewJson } from "../payloads/pulls.ts";
import { closeIssue } from "../state/issues.ts";
import { type MergeMethod, mergePull } from "../state/merges.ts";
import { editPull, findPull, isPull, type PullIssue, reopenPull } from "../state/pulls.ts";
import { choice, nullableStringField, numberParam, ok, stringField } from "./api-request.ts";
import { page } from "./pagination.ts";
import { type RepositoryRequest, type Route, repositoryRoute } from "./route.ts";
import { directed } from "./sorting.ts";

export const pullRoutes: Route[] = [
  repositoryRoute("GET", "/pulls", "pull_requests:read", (request) =>
    page(request, listPulls(request), (issue) => pullRowJson(request.world, issue, issue.pull)),
  ),
  repositoryRoute("GET", "/pulls/:number", "pull_requests:read", (request) => {
    const issue = pullOf(request);
    return ok(pullJson(request.world, issue, issue.pull));
  }),
  repositoryRoute("PATCH", "/pulls/:number", "pull_requests:write", (request) => {
    const issue = pullOf(request);
    patchPull(request, issue);
    return ok(pullJson(request.world, issue, issue.pull));
  }),
  repositoryRoute("GET", "/pulls/:number/commits", "pull_requests:read", (request) => {
    const { world, repository } = request;
    return page(request, pullCommits(world, pullOf(request).pull), (commit) =>
      commitJson(world, repository, commit),
    );
  }),
  repositoryRoute("GET", "/pulls/:number/files", "pull_requests:read", (request) => {
    const { world, repository } = request;
    const { pull } = pullOf(request);
    return page(request, pullFiles(world, pull), (row) => fileDiffJson(world, repository, row, pull.headSha));
  }),
  repositoryRoute("GET", "/pulls/:number/reviews", "pull_requests:read", (request) => {
    const issue = pullOf(request);
    return page(request, issue.pull.reviews, (review) => reviewJson(request.world, issue, review));
  }),
  repositoryRoute("PUT", "/pulls/:number/merge", "contents:write", (request) => {
    const issue = pullOf(request);
    const expected = stringField(request.body, "sha");
    if (expected !== undefined && expected !== issue.pull.headSha) {
      throw new HttpError(409, "Head branch was modified. Review and try the merge again.");
    }
    const sha = mergePull(request.world, request.actor, issue, mergeMethod(request));
    return ok({ sha, merged: true, message: "Pull Request successfully merged" });
  }),
];

function pullOf(request: RepositoryRequest): PullIssue {
  return findPull(request.repository, numberParam(request, "number"));
}

/** `head` is `owner:branch`. */
function listPulls(request: RepositoryRequest): PullIssue[] {
  const { query, repository } = request;
  const state = choice(request, "state", ["open", "closed", "all"]);
  const head = query.get("head");
  const base = query.get("base");
  const rows = [...repository.issues.values()]
    .filter(isPull)
    .filter(
      ({ pull, ...issue }) =>
        (state === "all" || issue.state === state) &&
        (head === null || `${pull.headRepository.owner.login}:${pull.headRef}` === head) &&
        (base === null || pull.baseRef === base),
    );
  const sort = choice(request, "sort", ["created", "updated"]);
  const key = (issue: PullIssue) => (sort === "created" ? issue.createdAt : issue.updatedAt).getTime();
  return directed(request, rows, (a, b) => key(a) - key(b) || a.number - b.number);
}

function patchPull({ world, actor, body }: RepositoryRequest, issue: PullIssue): void {
  editPull(world, actor, issue, {
    title: stringField(body, "title"),
    body: nullableStringField(body, "body"),
    base: stringField(body, "base"),
  });
  const state = stringField(body, "state");
  if (state === "closed") closeIssue(world, actor, issue, null);
  if (state === "open") reopenPull(world, actor, issue);
}

function mergeMethod({ body }: RepositoryRequest): MergeMethod {
  const method = stringField(body, "merge_method") ?? "merge";
  if (method === "merge" || method === "squash" || method === "rebase") return method;
  throw malformed(422, `Invalid request: merge_method=${method}`);
}
