import type { JsonObject } from "../json.ts";
import { authorAssociation } from "../state/author-association.ts";
import { latestConclusions } from "../state/check-results.ts";
import { commitsBetween, diff, type FileDiff, mergeBase } from "../state/git.ts";
import type { Commit, Issue, Pull, Repository, Review } from "../state/model.ts";
import type { World } from "../state/world.ts";
import { authorJson, userJson } from "./accounts.ts";
import { countLines } from "./git.ts";
import { issueHtmlUrl, issueUrl } from "./issues.ts";
import { labelJson, repositoryJson, repositoryUrl } from "./repositories.ts";
import { isoTime, isoTimeOrNull, nodeId } from "./times-and-ids.ts";

/** A pull request as GET and webhooks show it. */
export function pullJson(world: World, issue: Issue, pull: Pull): JsonObject {
  const commits = pullCommits(world, pull);
  const files = pullFiles(world, pull);
  return {
    ...pullRowJson(world, issue, pull),
    merged: pull.merged !== null,
    ...mergeability(issue, pull),
    merged_by: authorJson(world, pull.merged?.by ?? null),
    comments: issue.comments.length,
    review_comments: 0,
    maintainer_can_modify: false,
    commits: commits.length,
    additions: sum(files.map((row) => countLines(row.after))),
    deletions: sum(files.map((row) => countLines(row.before))),
    changed_files: files.length,
  };
}

/** A pull request as lists show it: without `merged` and what else must be computed. */
export function pullRowJson(world: World, issue: Issue, pull: Pull): JsonObject {
  const url = pullUrl(world, issue);
  const html = issueHtmlUrl(issue);
  const statuses = `${repositoryUrl(world, issue.repository)}/statuses/${pull.headSha}`;
  const [assignee] = issue.assignees;
  return {
    url,
    id: pull.id,
    node_id: nodeId("PR", pull.id),
    html_url: html,
    diff_url: `${html}.diff`,
    patch_url: `${html}.patch`,
    issue_url: issueUrl(world, issue),
    number: issue.number,
    state: issue.state,
    locked: issue.locked,
    title: issue.title,
    user: authorJson(world, issue.author),
    body: issue.body,
    created_at: isoTime(issue.createdAt),
    updated_at: isoTime(issue.updatedAt),
    closed_at: isoTimeOrNull(issue.closedAt),
    merged_at: isoTimeOrNull(pull.merged?.at ?? null),
    merge_commit_sha: pull.merged?.sha ?? null,
    assignee: assignee ? userJson(world, assignee) : null,
    assignees: issue.assignees.map((account) => userJson(world, account)),
    requested_reviewers: pull.requestedReviewers.map((account) => userJson(world, account)),
    requested_teams: [],
    labels: issue.labels.map((label) => labelJson(world, issue.repository, label)),
    milestone: issue.milestone === null ? null : { title: issue.milestone },
    draft: pull.draft,
    commits_url: `${url}/commits`,
    review_comments_url: `${url}/comments`,
    review_comment_url: `${repositoryUrl(world, issue.repository)}/pulls/comments{/number}`,
    comments_url: `${issueUrl(world, issue)}/comments`,
    statuses_url: statuses,
    head: sideJson(world, pull.headRepository, pull.headRef, pull.headSha),
    base: sideJson(world, issue.repository, pull.baseRef, pull.baseSha),
    _links: {
      self: { href: url },
      html: { href: html },
      issue: { href: issueUrl(world, issue) },
      comments: { href: `${issueUrl(world, issue)}/comments` },
      review_comments: { href: `${url}/comments` },
      review_comment: { href: `${repositoryUrl(world, issue.repository)}/pulls/comments{/number}` },
      commits: { href: `${url}/commits` },
      statuses: { href: statuses },
    },
    author_association: authorAssociation(issue.repository, issue.author),
    auto_merge: null,
    active_lock_reason: null,
  };
}

/** How check suites and check runs name a pull request. */
export function pullReferenceJson(world: World, issue: Issue, pull: Pull): JsonObject {
  const side = (repository: Repository, ref: string, sha: string): JsonObject => ({
    ref,
    sha,
    repo: { id: repository.id, url: repositoryUrl(world, repository), name: repository.name },
  });
  return {
    id: pull.id,
    number: issue.number,
    url: pullUrl(world, issue),
    head: side(pull.headRepository, pull.headRef, pull.headSha),
    base: side(issue.repository, pull.baseRef, pull.baseSha),
  };
}

export function reviewJson(world: World, issue: Issue, review: Review): JsonObject {
  const html = `${issueHtmlUrl(issue)}#pullrequestreview-${review.id}`;
  return {
    id: review.id,
    node_id: nodeId("PRR", review.id),
    user: authorJson(world, review.author),
    body: review.body,
    state: review.state.toUpperCase(),
    html_url: html,
    pull_request_url: pullUrl(world, issue),
    author_association: authorAssociation(issue.repository, review.author),
    _links: { html: { href: html }, pull_request: { href: pullUrl(world, issue) } },
    submitted_at: isoTime(review.submittedAt),
    commit_id: review.commitId,
  };
}

export function pullCommits(world: World, pull: Pull): Commit[] {
  return commitsBetween(world, pull.baseSha, pull.headSha);
}

export function pullFiles(world: World, pull: Pull): FileDiff[] {
  const base = mergeBase(world, pull.baseSha, pull.headSha);
  return diff(base?.files ?? new Map(), world.commit(pull.headSha).files);
}

function pullUrl(world: World, issue: Issue): string {
  return `${repositoryUrl(world, issue.repository)}/pulls/${issue.number}`;
}

function sideJson(world: World, repository: Repository, ref: string, sha: string): JsonObject {
  return {
    label: `${repository.owner.login}:${ref}`,
    ref,
    sha,
    user: userJson(world, repository.owner),
    repo: repository.deleted ? null : repositoryJson(world, repository),
  };
}

/** Without a word from the test: mergeable, and `unstable` while a check is red or running. */
function mergeability(issue: Issue, pull: Pull): JsonObject {
  if (issue.state === "closed") return { mergeable: null, rebaseable: null, mergeable_state: "unknown" };
  if (pull.mergeability) {
    const { mergeable, state } = pull.mergeability;
    return { mergeable, rebaseable: mergeable, mergeable_state: state };
  }
  const unsettled = latestConclusions(issue.repository, pull.headSha).some((result) => result !== "success");
  const state = pull.draft ? "draft" : unsettled ? "unstable" : "clean";
  return { mergeable: true, rebaseable: true, mergeable_state: state };
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
