import { notFound, validationFailed } from "../http-error.ts";
import { issueJson } from "../payloads/issues.ts";
import { addBlocker, addSubIssue, removeBlocker, removeSubIssue } from "../state/issue-links.ts";
import type { Issue } from "../state/model.ts";
import { created, numberField, numberParam, ok } from "./api-request.ts";
import { page } from "./pagination.ts";
import { presentIssue } from "./present-issue.ts";
import { type RepositoryRequest, type Route, repositoryRoute } from "./route.ts";

/** Sub-issues and dependencies. They name the other issue by its id, not by its number. */
export const linkRoutes: Route[] = [
  repositoryRoute("GET", "/issues/:number/sub_issues", "issues:read", (request) =>
    page(request, presentIssue(request).subIssues, (issue) => issueJson(request.world, issue)),
  ),
  repositoryRoute("POST", "/issues/:number/sub_issues", "issues:write", (request) => {
    const parent = presentIssue(request);
    const sub = issueById(request, numberField(request.body, "sub_issue_id"));
    const replaceParent = request.body.replace_parent === true;
    addSubIssue(request.world, request.actor, parent, sub, replaceParent);
    return created(issueJson(request.world, parent));
  }),
  repositoryRoute("DELETE", "/issues/:number/sub_issue", "issues:write", (request) => {
    const parent = presentIssue(request);
    const sub = issueById(request, numberField(request.body, "sub_issue_id"));
    removeSubIssue(request.world, request.actor, parent, sub);
    return ok(issueJson(request.world, parent));
  }),
  repositoryRoute("GET", "/issues/:number/parent", "issues:read", (request) => {
    const { parent } = presentIssue(request);
    if (!parent) throw notFound();
    return ok(issueJson(request.world, parent));
  }),
  repositoryRoute("GET", "/issues/:number/dependencies/blocked_by", "issues:read", (request) =>
    page(request, presentIssue(request).blockedBy, (issue) => issueJson(request.world, issue)),
  ),
  repositoryRoute("POST", "/issues/:number/dependencies/blocked_by", "issues:write", (request) => {
    const blocked = presentIssue(request);
    const blocker = issueById(request, numberField(request.body, "issue_id"));
    addBlocker(request.world, request.actor, blocked, blocker);
    return created(issueJson(request.world, blocker));
  }),
  repositoryRoute("DELETE", "/issues/:number/dependencies/blocked_by/:id", "issues:write", (request) => {
    const blocker = issueById(request, numberParam(request, "id"));
    removeBlocker(request.world, request.actor, presentIssue(request), blocker);
    return ok(issueJson(request.world, blocker));
  }),
  repositoryRoute("GET", "/issues/:number/dependencies/blocking", "issues:read", (request) =>
    page(request, presentIssue(request).blocking, (issue) => issueJson(request.world, issue)),
  ),
];

function issueById({ world }: RepositoryRequest, id: number | undefined): Issue {
  if (id === undefined) throw validationFailed("Issue", "id", "missing_field");
  const issue = world.findIssueById(id);
  if (!issue) throw notFound();
  return issue;
}
