import { malformed, notFound, validationFailed } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { checkRunJson, checkSuiteRowJson, commitStatusJson } from "../payloads/checks.ts";
import { repositoryJson, repositoryUrl } from "../payloads/repositories.ts";
import { type CheckRunFields, createCheckRun, findOrAddSuite, updateCheckRun } from "../state/checks.ts";
import type { CheckRun, CheckStatus, CommitStatus } from "../state/model.ts";
import {
  choice,
  created,
  nullableStringField,
  numberParam,
  objectField,
  ok,
  param,
  requiredString,
  stringField,
} from "./api-request.ts";
import { countedPage } from "./pagination.ts";
import { resolveRef } from "./resolve-ref.ts";
import { type RepositoryRequest, type Route, repositoryRoute } from "./route.ts";

export const checkRoutes: Route[] = [
  repositoryRoute("GET", "/commits/:ref*/check-suites", "checks:read", (request) => {
    const { world, repository, query } = request;
    const sha = resolveRef(request, param(request, "ref"));
    const appId = query.get("app_id");
    const rows = repository.checkSuites.filter(
      (suite) => suite.headSha === sha && (appId === null || String(suite.app.id) === appId),
    );
    return countedPage(request, "check_suites", rows, (suite) => checkSuiteRowJson(world, repository, suite));
  }),
  repositoryRoute("GET", "/commits/:ref*/check-runs", "checks:read", (request) => {
    const { world, repository } = request;
    return countedPage(request, "check_runs", listRuns(request), (run) =>
      checkRunJson(world, repository, run),
    );
  }),
  repositoryRoute("GET", "/commits/:ref*/status", "statuses:read", (request) => ok(combinedStatus(request))),
  repositoryRoute("POST", "/check-runs", "checks:write", (request) => {
    const { world, actor, repository, body } = request;
    const name = requiredString(body, "name", "CheckRun");
    const sha = requiredString(body, "head_sha", "CheckRun");
    if (!world.commits.has(sha)) {
      throw validationFailed("CheckRun", "head_sha", "custom", `No commit found for SHA: ${sha}`);
    }
    const suite = findOrAddSuite(world, repository, world.app, sha);
    const run = createCheckRun(world, actor, repository, suite, { ...runFields(body), name });
    return created(checkRunJson(world, repository, run));
  }),
  repositoryRoute("GET", "/check-runs/:id", "checks:read", (request) =>
    ok(checkRunJson(request.world, request.repository, findRun(request))),
  ),
  repositoryRoute("PATCH", "/check-runs/:id", "checks:write", (request) => {
    const { world, actor, repository, body } = request;
    const run = findRun(request);
    if (run.suite.app !== world.app) throw malformed(404, "Not Found: the check run is another App's");
    updateCheckRun(world, actor, repository, run, { ...runFields(body), name: stringField(body, "name") });
    return ok(checkRunJson(world, repository, run));
  }),
];

/** Of the runs that one App gave the same name, only the latest, unless all are asked for. */
function listRuns(request: RepositoryRequest): CheckRun[] {
  const { query, repository } = request;
  const sha = resolveRef(request, param(request, "ref"));
  const name = query.get("check_name");
  const appId = query.get("app_id");
  const runs = repository.checkSuites
    .filter((suite) => suite.headSha === sha && (appId === null || String(suite.app.id) === appId))
    .flatMap((suite) => suite.runs)
    .filter((run) => name === null || run.name === name);
  if (choice(request, "filter", ["latest", "all"]) === "all") return runs;
  const latest = new Map(runs.map((run) => [`${run.suite.id} ${run.name}`, run]));
  return [...latest.values()];
}

/** The latest status of every context; `pending` when there is none. */
function combinedStatus(request: RepositoryRequest): JsonObject {
  const { world, repository } = request;
  const sha = resolveRef(request, param(request, "ref"));
  const latest = new Map<string, CommitStatus>();
  for (const status of repository.statuses) if (status.sha === sha) latest.set(status.context, status);
  const statuses = [...latest.values()];
  const states = statuses.map(({ state }) => state);
  const isFailed = states.includes("failure") || states.includes("error");
  const isPending = states.length === 0 || states.includes("pending");
  const url = `${repositoryUrl(world, repository)}/commits/${sha}`;
  return {
    state: isFailed ? "failure" : isPending ? "pending" : "success",
    statuses: statuses.map((status) => commitStatusJson(world, repository, status)),
    sha,
    total_count: statuses.length,
    repository: repositoryJson(world, repository),
    commit_url: url,
    url: `${url}/status`,
  };
}

function findRun(request: RepositoryRequest): CheckRun {
  const id = numberParam(request, "id");
  for (const suite of request.repository.checkSuites) {
    const run = suite.runs.find((candidate) => candidate.id === id);
    if (run) return run;
  }
  throw notFound();
}

function runFields(body: JsonObject): CheckRunFields {
  return {
    status: checkStatus(stringField(body, "status")),
    conclusion: nullableStringField(body, "conclusion"),
    externalId: nullableStringField(body, "external_id"),
    detailsUrl: nullableStringField(body, "details_url"),
    output: outputFields(objectField(body, "output")),
  };
}

function outputFields(output: JsonObject | undefined): CheckRunFields["output"] {
  if (!output) return undefined;
  return {
    title: requiredString(output, "title", "CheckRun"),
    summary: requiredString(output, "summary", "CheckRun"),
    text: stringField(output, "text") ?? null,
  };
}

function checkStatus(text: string | undefined): CheckStatus | undefined {
  if (text === undefined || text === "queued" || text === "in_progress" || text === "completed") return text;
  throw malformed(422, `Invalid request: status=${text}`);
}
