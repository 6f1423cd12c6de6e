import type { JsonObject } from "../json.ts";
import type { CheckRun, CheckSuite, CommitStatus, Repository } from "../state/model.ts";
import type { World } from "../state/world.ts";
import { appJson, authorJson } from "./accounts.ts";
import { simpleCommitJson } from "./git.ts";
import { pullReferenceJson } from "./pulls.ts";
import { repositoryHtmlUrl, repositoryJson, repositoryUrl } from "./repositories.ts";
import { isoTime, isoTimeOrNull, nodeId } from "./times-and-ids.ts";

export function checkSuiteJson(world: World, repository: Repository, suite: CheckSuite): JsonObject {
  const url = `${repositoryUrl(world, repository)}/check-suites/${suite.id}`;
  return {
    id: suite.id,
    node_id: nodeId("CS", suite.id),
    head_branch: suite.headBranch,
    head_sha: suite.headSha,
    status: suite.status,
    conclusion: suite.conclusion,
    url,
    before: world.commits.get(suite.headSha)?.parents[0] ?? null,
    after: suite.headSha,
    pull_requests: pullsAt(world, repository, suite.headSha),
    app: appJson(world, suite.app),
    created_at: isoTime(suite.createdAt),
    updated_at: isoTime(suite.updatedAt),
    rerequestable: true,
    runs_rerequestable: true,
    latest_check_runs_count: suite.runs.length,
    check_runs_url: `${url}/check-runs`,
    head_commit: simpleCommitJson(world.commit(suite.headSha)),
  };
}

/** The REST API adds the repository, which a webhook has at its top. */
export function checkSuiteRowJson(world: World, repository: Repository, suite: CheckSuite): JsonObject {
  return { ...checkSuiteJson(world, repository, suite), repository: repositoryJson(world, repository) };
}

export function checkRunJson(world: World, repository: Repository, run: CheckRun): JsonObject {
  const { suite } = run;
  const url = `${repositoryUrl(world, repository)}/check-runs/${run.id}`;
  const html = `${repositoryHtmlUrl(repository)}/runs/${run.id}`;
  return {
    id: run.id,
    name: run.name,
    node_id: nodeId("CR", run.id),
    head_sha: suite.headSha,
    external_id: run.externalId ?? "",
    url,
    html_url: html,
    details_url: run.detailsUrl ?? html,
    status: run.status,
    conclusion: run.conclusion,
    started_at: isoTimeOrNull(run.startedAt),
    completed_at: isoTimeOrNull(run.completedAt),
    output: { ...run.output, annotations_count: 0, annotations_url: `${url}/annotations` },
    check_suite: { id: suite.id },
    app: appJson(world, suite.app),
    pull_requests: pullsAt(world, repository, suite.headSha),
  };
}

export function commitStatusJson(world: World, repository: Repository, status: CommitStatus): JsonObject {
  return {
    url: `${repositoryUrl(world, repository)}/statuses/${status.sha}`,
    avatar_url: `https://avatars.githubusercontent.com/u/${status.author.id}?v=4`,
    id: status.id,
    node_id: nodeId("SC", status.id),
    state: status.state,
    description: status.description,
    target_url: null,
    context: status.context,
    created_at: isoTime(status.at),
    updated_at: isoTime(status.at),
    creator: authorJson(world, status.author),
  };
}

/** Empty for pull requests from forks, whose commits GitHub does not look up here. */
function pullsAt(world: World, repository: Repository, sha: string): JsonObject[] {
  const found: JsonObject[] = [];
  for (const issue of repository.issues.values()) {
    const { pull } = issue;
    if (pull?.headSha === sha && issue.state === "open" && pull.headRepository === repository) {
      found.push(pullReferenceJson(world, issue, pull));
    }
  }
  return found;
}
