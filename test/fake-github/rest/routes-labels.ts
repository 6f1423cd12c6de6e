import { labelJson } from "../payloads/repositories.ts";
import { labelIssue, setLabels, unlabelIssue } from "../state/issue-labels.ts";
import type { Issue, Label } from "../state/model.ts";
import { createLabel, deleteLabel, editLabel, findLabel } from "../state/repository-labels.ts";
import {
  created,
  namesField,
  noContent,
  nullableStringField,
  ok,
  param,
  type Reply,
  requiredString,
  stringField,
} from "./api-request.ts";
import { page } from "./pagination.ts";
import { presentIssue } from "./present-issue.ts";
import { type RepositoryRequest, type Route, repositoryRoute } from "./route.ts";

/** The labels that a repository has, and those that an issue carries. */
export const labelRoutes: Route[] = [
  repositoryRoute("GET", "/labels", "issues:read", (request) =>
    page(request, [...request.repository.labels.values()], (label) =>
      labelJson(request.world, request.repository, label),
    ),
  ),
  repositoryRoute("POST", "/labels", "issues:write", (request) => {
    const { world, actor, repository, body } = request;
    const name = requiredString(body, "name", "Label");
    const label = createLabel(world, actor, repository, { ...labelFields(request), name });
    return created(labelJson(world, repository, label));
  }),
  repositoryRoute("GET", "/labels/:name", "issues:read", (request) =>
    ok(labelJson(request.world, request.repository, labelOf(request))),
  ),
  repositoryRoute("PATCH", "/labels/:name", "issues:write", (request) => {
    const { world, actor, repository, body } = request;
    const label = labelOf(request);
    editLabel(world, actor, repository, label, {
      ...labelFields(request),
      name: stringField(body, "new_name"),
    });
    return ok(labelJson(world, repository, label));
  }),
  repositoryRoute("DELETE", "/labels/:name", "issues:write", (request) => {
    deleteLabel(request.world, request.actor, request.repository, labelOf(request));
    return noContent();
  }),

  repositoryRoute("GET", "/issues/:number/labels", "issues:read", (request) => {
    const issue = presentIssue(request);
    return page(request, issue.labels, (label) => labelJson(request.world, request.repository, label));
  }),
  repositoryRoute("POST", "/issues/:number/labels", "issues:write", (request) => {
    const issue = presentIssue(request);
    labelIssue(request.world, request.actor, issue, ...(namesField(request.body, "labels") ?? []));
    return labelsOf(request, issue);
  }),
  repositoryRoute("PUT", "/issues/:number/labels", "issues:write", (request) => {
    const issue = presentIssue(request);
    setLabels(request.world, request.actor, issue, namesField(request.body, "labels") ?? []);
    return labelsOf(request, issue);
  }),
  repositoryRoute("DELETE", "/issues/:number/labels", "issues:write", (request) => {
    setLabels(request.world, request.actor, presentIssue(request), []);
    return noContent();
  }),
  repositoryRoute("DELETE", "/issues/:number/labels/:name", "issues:write", (request) => {
    const issue = presentIssue(request);
    unlabelIssue(request.world, request.actor, issue, param(request, "name"));
    return labelsOf(request, issue);
  }),
];

function labelOf(request: RepositoryRequest): Label {
  return findLabel(request.repository, param(request, "name"));
}

function labelsOf({ world, repository }: RepositoryRequest, issue: Issue): Reply {
  return ok(issue.labels.map((label) => labelJson(world, repository, label)));
}

function labelFields({ body }: RepositoryRequest) {
  return { color: stringField(body, "color"), description: nullableStringField(body, "description") };
}
