import { malformed } from "../http-error.ts";
import { issueEventJson, issueHtmlUrl, issueJson, singleIssueJson } from "../payloads/issues.ts";
import { setLabels } from "../state/issue-labels.ts";
import { closeIssue, editIssue, lockIssue, openIssue, reopenIssue } from "../state/issues.ts";
import type { Actor, Issue, StateReason } from "../state/model.ts";
import { isPull, reopenPull } from "../state/pulls.ts";
import type { World } from "../state/world.ts";
import {
  choice,
  created,
  namesField,
  noContent,
  nullableStringField,
  ok,
  requiredString,
  stringField,
} from "./api-request.ts";
import { page } from "./pagination.ts";
import { presentIssue } from "./present-issue.ts";
import { type RepositoryRequest, type Route, repositoryRoute } from "./route.ts";
import { directed, since } from "./sorting.ts";
import { timeline } from "./timeline.ts";

export const issueRoutes: Route[] = [
  repositoryRoute("GET", "/issues", "issues:read", (request) =>
    page(request, listIssues(request), (issue) => issueJson(request.world, issue)),
  ),
  repositoryRoute("POST", "/issues", "issues:write", (request) => {
    const { world, actor, repository, body } = request;
    const issue = openIssue(world, actor, repository, {
      title: requiredString(body, "title", "Issue"),
      body: nullableStringField(body, "body"),
      labels: namesField(body, "labels"),
      assignees: namesField(body, "assignees"),
    });
    return { ...created(singleIssueJson(world, issue)), headers: { location: issueHtmlUrl(issue) } };
  }),
  repositoryRoute("GET", "/issues/:number", "issues:read", (request) =>
    ok(singleIssueJson(request.world, presentIssue(request))),
  ),
  repositoryRoute("PATCH", "/issues/:number", "issues:write", (request) => {
    const issue = presentIssue(request);
    patchIssue(request, issue);
    return ok(singleIssueJson(request.world, issue));
  }),
  repositoryRoute("PUT", "/issues/:number/lock", "issues:write", (request) => {
    lockIssue(request.world, request.actor, presentIssue(request));
    return noContent();
  }),
  repositoryRoute("GET", "/issues/events", "issues:read", (request) => {
    const rows = [...request.repository.issues.values()]
      .flatMap((issue) => issue.events.map((event) => ({ issue, event })))
      .sort((a, b) => b.event.id - a.event.id);
    return page(request, rows, ({ issue, event }) => ({
      ...issueEventJson(request.world, issue, event),
      issue: issueJson(request.world, issue),
    }));
  }),
  repositoryRoute("GET", "/issues/:number/events", "issues:read", (request) => {
    const issue = presentIssue(request);
    return page(request, issue.events, (event) => issueEventJson(request.world, issue, event));
  }),
  repositoryRoute("GET", "/issues/:number/timeline", "issues:read", (request) => {
    const issue = presentIssue(request);
    return page(request, timeline(issue), (entry) => entry.render(request.world));
  }),
];

function listIssues(request: RepositoryRequest): Issue[] {
  const { query, repository } = request;
  const state = choice(request, "state", ["open", "closed", "all"]);
  const labels = query.get("labels")?.toLowerCase().split(",").filter(Boolean) ?? [];
  const creator = query.get("creator")?.toLowerCase();
  const rows = since(request, [...repository.issues.values()], (issue) => issue.updatedAt).filter(
    (issue) =>
      (state === "all" || issue.state === state) &&
      (creator === undefined || issue.author.login.toLowerCase() === creator) &&
      labels.every((name) => issue.labels.some((label) => label.name.toLowerCase() === name)),
  );
  const sort = choice(request, "sort", ["created", "updated", "comments"]);
  const key = (issue: Issue) =>
    sort === "comments"
      ? issue.comments.length
      : (sort === "created" ? issue.createdAt : issue.updatedAt).getTime();
  return directed(request, rows, (a, b) => key(a) - key(b) || a.number - b.number);
}

function patchIssue({ world, actor, body }: RepositoryRequest, issue: Issue): void {
  editIssue(world, actor, issue, {
    title: stringField(body, "title"),
    body: nullableStringField(body, "body"),
  });
  const labels = namesField(body, "labels");
  if (labels) setLabels(world, actor, issue, labels);
  const state = stringField(body, "state");
  const reason = stateReason(nullableStringField(body, "state_reason"));
  if (state === "closed") {
    const unsaid = issue.state === "closed" ? issue.stateReason : "completed";
    closeIssue(world, actor, issue, reason ?? unsaid);
  }
  if (state === "open") reopen(world, actor, issue);
  if (state !== undefined && state !== "open" && state !== "closed")
    throw malformed(422, `Invalid request: state=${state}`);
}

function reopen(world: World, by: Actor, issue: Issue): void {
  if (isPull(issue)) reopenPull(world, by, issue);
  else reopenIssue(world, by, issue);
}

function stateReason(text: string | null | undefined): StateReason | null {
  switch (text) {
    case undefined:
    case null:
      return null;
    case "completed":
    case "not_planned":
    case "duplicate":
    case "reopened":
      return text;
    default:
      throw malformed(422, `Invalid request: state_reason=${text}`);
  }
}
