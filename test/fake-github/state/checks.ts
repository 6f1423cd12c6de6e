import type { JsonObject } from "../json.ts";
import { checkRunJson, checkSuiteJson, commitStatusJson } from "../payloads/checks.ts";
import { commitJson } from "../payloads/git.ts";
import { emit } from "./emit.ts";
import type {
  Actor,
  CheckRun,
  CheckStatus,
  CheckSuite,
  CommitStatus,
  GitHubApp,
  Repository,
} from "./model.ts";
import { allows, type World } from "./world.ts";

export type CheckRunFields = {
  name?: string | undefined;
  status?: CheckStatus | undefined;
  conclusion?: string | null | undefined;
  externalId?: string | null | undefined;
  detailsUrl?: string | null | undefined;
  output?: Partial<CheckRun["output"]> | undefined;
};

/** A push opens an empty suite for every App that may write checks, and asks it to begin. */
export function requestCheckSuite(
  world: World,
  by: Actor,
  repository: Repository,
  branch: string,
  sha: string,
): void {
  const installation = world.installationOf(repository);
  if (!installation || !allows(installation.permissions, "checks", "write")) return;
  if (repository.checkSuites.some((suite) => suite.headSha === sha && suite.app === world.app)) return;
  const suite = addSuite(world, repository, world.app, sha, branch);
  emitForSuite(world, by, repository, suite, "requested");
}

/** Another App's verdict on a commit, made of one run that bears the App's name. */
export function setCheckSuite(
  world: World,
  by: Actor,
  repository: Repository,
  sha: string,
  app: GitHubApp,
  status: CheckStatus,
  conclusion: string | null,
): CheckSuite {
  const suite = findOrAddSuite(world, repository, app, sha);
  const fields = { name: app.slug, status, conclusion };
  const [run] = suite.runs;
  if (run) updateCheckRun(world, by, repository, run, fields);
  else createCheckRun(world, by, repository, suite, { ...fields });
  return suite;
}

export function findOrAddSuite(
  world: World,
  repository: Repository,
  app: GitHubApp,
  sha: string,
): CheckSuite {
  const branch = [...repository.branches].find(([, tip]) => tip === sha)?.[0] ?? null;
  return (
    repository.checkSuites.find((suite) => suite.headSha === sha && suite.app === app) ??
    addSuite(world, repository, app, sha, branch)
  );
}

export function createCheckRun(
  world: World,
  by: Actor,
  repository: Repository,
  suite: CheckSuite,
  fields: CheckRunFields & { name: string },
): CheckRun {
  const run: CheckRun = {
    id: world.nextId(),
    suite,
    name: fields.name,
    status: "queued",
    conclusion: null,
    externalId: null,
    detailsUrl: null,
    output: { title: null, summary: null, text: null },
    startedAt: world.now(),
    completedAt: null,
  };
  applyFields(world, run, fields);
  suite.runs.push(run);
  emitForRun(world, by, repository, run, "created");
  if (run.status === "completed") emitForRun(world, by, repository, run, "completed");
  concludeSuite(world, by, repository, suite);
  return run;
}

export function updateCheckRun(
  world: World,
  by: Actor,
  repository: Repository,
  run: CheckRun,
  fields: CheckRunFields,
): void {
  applyFields(world, run, fields);
  if (run.status === "completed") emitForRun(world, by, repository, run, "completed");
  concludeSuite(world, by, repository, run.suite);
}

export function setCommitStatus(
  world: World,
  by: Actor,
  repository: Repository,
  sha: string,
  state: CommitStatus["state"],
  context: string,
): void {
  const commit = world.commit(sha);
  const status: CommitStatus = {
    id: world.nextId(),
    sha,
    state,
    context,
    description: null,
    author: by.account,
    at: world.now(),
  };
  repository.statuses.push(status);
  emit(world, repository, by, {
    event: "status",
    fields: () => ({
      ...commitStatusJson(world, repository, status),
      sha,
      name: `${repository.owner.login}/${repository.name}`,
      commit: commitJson(world, repository, commit),
      branches: [...repository.branches]
        .filter(([, tip]) => tip === sha)
        .map(([name]) => ({ name, commit: { sha }, protected: false })),
    }),
  });
}

function addSuite(
  world: World,
  repository: Repository,
  app: GitHubApp,
  headSha: string,
  headBranch: string | null,
): CheckSuite {
  const now = world.now();
  const suite: CheckSuite = {
    id: world.nextId(),
    app,
    headSha,
    headBranch,
    status: "queued",
    conclusion: null,
    runs: [],
    createdAt: now,
    updatedAt: now,
  };
  repository.checkSuites.push(suite);
  return suite;
}

function applyFields(world: World, run: CheckRun, fields: CheckRunFields): void {
  if (fields.name !== undefined) run.name = fields.name;
  if (fields.externalId !== undefined) run.externalId = fields.externalId;
  if (fields.detailsUrl !== undefined) run.detailsUrl = fields.detailsUrl;
  if (fields.output !== undefined) run.output = { ...run.output, ...fields.output };
  if (fields.status !== undefined) run.status = fields.status;
  if (fields.conclusion !== undefined && fields.conclusion !== null) run.status = "completed";
  run.conclusion = run.status === "completed" ? (fields.conclusion ?? run.conclusion) : null;
  run.completedAt = run.status === "completed" ? world.now() : null;
}

/** A suite is completed when all its runs are; its conclusion is the worst of theirs. */
function concludeSuite(world: World, by: Actor, repository: Repository, suite: CheckSuite): void {
  const isCompleted = suite.runs.every((run) => run.status === "completed");
  const failing = suite.runs.find((run) => !["success", "neutral", "skipped"].includes(run.conclusion ?? ""));
  suite.status = isCompleted ? "completed" : "in_progress";
  suite.conclusion = isCompleted ? (failing?.conclusion ?? suite.runs[0]?.conclusion ?? null) : null;
  if (suite.runs.every((run) => run.status === "queued")) suite.status = "queued";
  suite.updatedAt = world.now();
  if (isCompleted) emitForSuite(world, by, repository, suite, "completed");
}

function emitForSuite(
  world: World,
  by: Actor,
  repository: Repository,
  suite: CheckSuite,
  action: string,
): void {
  emit(world, repository, by, {
    event: "check_suite",
    action,
    fields: () => ({ check_suite: checkSuiteJson(world, repository, suite) }),
  });
}

function emitForRun(world: World, by: Actor, repository: Repository, run: CheckRun, action: string): void {
  const fields = (): JsonObject => ({
    check_run: {
      ...checkRunJson(world, repository, run),
      check_suite: checkSuiteJson(world, repository, run.suite),
    },
  });
  emit(world, repository, by, { event: "check_run", action, fields });
}
