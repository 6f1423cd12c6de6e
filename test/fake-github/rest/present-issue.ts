import { HttpError } from "../http-error.ts";
import { findIssue } from "../state/issues.ts";
import type { Issue } from "../state/model.ts";
import { numberParam } from "./api-request.ts";
import { type RepositoryRequest, redirect } from "./route.ts";

/** 410 where an issue was deleted; where it was transferred, the way to it. */
export function presentIssue(request: RepositoryRequest): Issue {
  const number = numberParam(request, "number");
  const gone = request.repository.gone.get(number);
  if (gone?.kind === "deleted") throw new HttpError(410, "This issue was deleted");
  if (gone?.kind === "transferred") {
    const rest = request.path.split("/").slice(6);
    const to = `/repositories/${gone.to.repository.id}/issues/${gone.to.number}`;
    throw redirect(request, [to, ...rest].join("/"));
  }
  return findIssue(request.repository, number);
}
