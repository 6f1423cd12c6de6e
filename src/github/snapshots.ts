/** GitHub's JSON, once parsed, as the rest of the program sees it. */

import type { z } from "zod";
import type {
  GitHubCheckSuite,
  GitHubComment,
  GitHubIssue,
  GitHubPull,
  GitHubReview,
  IssuesPayload,
} from "../contract/github-payloads.ts";
import type { ToldText } from "../domain/body-trail.ts";
import { closingReferences } from "../domain/closing-keywords.ts";
import type { IssueEvent } from "../domain/issue-transitions.ts";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";

/** What an `issues` delivery tells of, beside the issue's snapshot. */
export const issueEvent = (payload: z.infer<typeof IssuesPayload>): IssueEvent => ({
  action: payload.action,
  label: payload.label?.name ?? null,
  bodyChanged: Boolean(payload.changes?.body),
  at: payload.issue.updated_at,
});

/** What the delivery tells of the body: that somebody edited it, or opened the issue with it; null: it tells of something else. */
export function toldText({ action, changes, issue }: z.infer<typeof IssuesPayload>): ToldText | null {
  const to = issue.body ?? "";
  if (action === "opened") return { from: null, to };
  if (action !== "edited" || !changes?.body) return null;
  const { from } = changes.body;
  return { from: from === null ? "" : from, to };
}

export function issueSnapshot(issue: GitHubIssue): IssueSnapshot {
  return {
    number: issue.number,
    id: issue.id,
    nodeId: issue.node_id ?? null,
    title: issue.title,
    body: issue.body ?? null,
    open: issue.state === "open",
    stateReason: issue.state_reason ?? null,
    labels: (issue.labels ?? []).map((label) => (typeof label === "string" ? label : label.name)),
    authorId: issue.user?.id ?? null,
    authorLogin: issue.user?.login ?? null,
    authorType: issue.user?.type ?? null,
    authorAssociation: issue.author_association ?? null,
    viaAppId: issue.performed_via_github_app ? (issue.performed_via_github_app.id ?? 0) : null,
    assignees: (issue.assignees ?? []).flatMap((user) => user?.login ?? []),
    milestone: issue.milestone?.title ?? null,
    locked: issue.locked ?? false,
    url: issue.html_url,
    createdAt: issue.created_at,
    updatedAt: issue.updated_at,
    closedAt: issue.closed_at ?? null,
  };
}

export function commentSnapshot(comment: GitHubComment, issueNumber: number) {
  return {
    id: comment.id,
    issueNumber,
    body: comment.body ?? "",
    authorId: comment.user?.id ?? null,
    authorLogin: comment.user?.login ?? null,
    authorType: comment.user?.type ?? null,
    authorAssociation: comment.author_association ?? null,
    viaAppId: comment.performed_via_github_app ? (comment.performed_via_github_app.id ?? 0) : null,
    url: comment.html_url ?? null,
    createdAt: comment.created_at,
    updatedAt: comment.updated_at,
  };
}

/** The issue that a repository-wide listed comment belongs to, from its `issue_url`. */
export function issueOfComment(comment: GitHubComment): number | null {
  const match = /\/issues\/(\d+)$/.exec(comment.issue_url ?? "");
  return match ? Number(match[1]) : null;
}

export function pullSnapshot(pull: GitHubPull, repo: { owner: string; name: string; host: string }) {
  return {
    ...common(pull, repo),
    draft: pull.draft ?? false,
    asked: askedOf(pull),
    mergedAt: pull.merged_at ?? null,
    mergeSha: pull.merged_at ? (pull.merge_commit_sha ?? null) : null,
    branches: {
      base: pull.base.ref,
      head: pull.head.ref,
      headSha: pull.head.sha,
      headRepositoryId: pull.head.repo?.id ?? null,
    },
  };
}

/** Logins in lower case, and teams, whose review is asked for. */
const askedOf = ({ requested_reviewers, requested_teams }: GitHubPull): string[] => [
  ...(requested_reviewers ?? []).flatMap((user) => user?.login?.toLowerCase() ?? []),
  ...(requested_teams ?? []).flatMap(({ slug }) => (slug ? [`team:${slug}`] : [])),
];

/** A review of a pull request. Webhooks write its state in lower case, the REST API in upper case. */
export function reviewSnapshot(review: GitHubReview, pull: number) {
  return {
    id: review.id,
    pull_number: pull,
    reviewer_id: review.user?.id ?? null,
    reviewer_login: review.user?.login ?? null,
    reviewer_type: review.user?.type ?? null,
    reviewer_association: review.author_association ?? null,
    state: review.state.toLowerCase(),
    commit_sha: review.commit_id ?? null,
    submitted_at: review.submitted_at ?? null,
  };
}

export function checkSuiteSnapshot(suite: GitHubCheckSuite) {
  return {
    id: suite.id,
    head_sha: suite.head_sha,
    head_branch: suite.head_branch ?? null,
    app_slug: suite.app?.slug ?? null,
    status: suite.status ?? null,
    conclusion: suite.conclusion ?? null,
    runs: suite.latest_check_runs_count ?? null,
    updated_at: suite.updated_at,
  };
}

/** A pull request as the issue list names it: without branches. */
export function pullStub(issue: GitHubIssue, repo: { owner: string; name: string; host: string }) {
  return { ...common(issue, repo), draft: false, asked: [], mergedAt: null, mergeSha: null, branches: null };
}

function common(pull: GitHubPull | GitHubIssue, repo: { owner: string; name: string; host: string }) {
  return {
    number: pull.number,
    id: pull.id,
    title: pull.title,
    body: pull.body ?? null,
    open: pull.state === "open",
    authorId: pull.user?.id ?? null,
    authorLogin: pull.user?.login ?? null,
    authorType: pull.user?.type ?? null,
    authorAssociation: pull.author_association ?? null,
    url: pull.html_url,
    createdAt: pull.created_at,
    updatedAt: pull.updated_at,
    closedAt: pull.closed_at ?? null,
    closes: closingReferences(pull.body ?? null, repo).closes,
  };
}

/** The web address of the GitHub that a page belongs to: `https://github.com`, or a GHES host. */
export function hostOf(htmlUrl: string | null | undefined): string {
  try {
    return new URL(htmlUrl ?? "").origin;
  } catch {
    return "https://github.com";
  }
}
