import { commentJson } from "../payloads/issues.ts";
import { createComment, deleteComment, editComment, findComment } from "../state/comments.ts";
import type { Comment, Issue } from "../state/model.ts";
import { choice, created, noContent, numberParam, ok, requiredString } from "./api-request.ts";
import { page } from "./pagination.ts";
import { presentIssue } from "./present-issue.ts";
import { type RepositoryRequest, type Route, repositoryRoute } from "./route.ts";
import { directed, since } from "./sorting.ts";

type Row = { issue: Issue; comment: Comment };

export const commentRoutes: Route[] = [
  repositoryRoute("GET", "/issues/comments", "issues:read", (request) =>
    page(request, repositoryComments(request), ({ issue, comment }) =>
      commentJson(request.world, issue, comment),
    ),
  ),
  repositoryRoute("GET", "/issues/comments/:id", "issues:read", (request) => {
    const { issue, comment } = findComment(request.repository, numberParam(request, "id"));
    return ok(commentJson(request.world, issue, comment));
  }),
  repositoryRoute("PATCH", "/issues/comments/:id", "issues:write", (request) => {
    const { world, actor, repository, body } = request;
    const { issue, comment } = findComment(repository, numberParam(request, "id"));
    editComment(world, actor, repository, comment.id, requiredString(body, "body", "IssueComment"));
    return ok(commentJson(world, issue, comment));
  }),
  repositoryRoute("DELETE", "/issues/comments/:id", "issues:write", (request) => {
    deleteComment(request.world, request.actor, request.repository, numberParam(request, "id"));
    return noContent();
  }),
  repositoryRoute("GET", "/issues/:number/comments", "issues:read", (request) => {
    const issue = presentIssue(request);
    const rows = since(request, issue.comments, (comment) => comment.updatedAt);
    return page(request, rows, (comment) => commentJson(request.world, issue, comment));
  }),
  repositoryRoute("POST", "/issues/:number/comments", "issues:write", (request) => {
    const { world, actor, body } = request;
    const issue = presentIssue(request);
    const comment = createComment(world, actor, issue, requiredString(body, "body", "IssueComment"));
    return created(commentJson(world, issue, comment));
  }),
];

/** By id; only when asked to sort does the direction count. */
function repositoryComments(request: RepositoryRequest): Row[] {
  const all: Row[] = [];
  for (const issue of request.repository.issues.values()) {
    for (const comment of issue.comments) all.push({ issue, comment });
  }
  const rows = since(request, all, ({ comment }) => comment.updatedAt).sort(
    (a, b) => a.comment.id - b.comment.id,
  );
  if (!request.query.has("sort")) return rows;
  const sort = choice(request, "sort", ["created", "updated"]);
  const time = ({ comment }: Row) => (sort === "created" ? comment.createdAt : comment.updatedAt).getTime();
  return directed(request, rows, (a, b) => time(a) - time(b) || a.comment.id - b.comment.id);
}
