/**
 * What Leasehold reads out of GitHub's payloads, parsed once at the edge. Loose on purpose: GitHub adds
 * fields, leaves users out (ghosts), and sends null where the documentation shows a value.
 */

import { z } from "zod";
import { MAX_INT32 } from "./text.ts";

const id = z.int().nonnegative();
/** Of an issue or pull request: PostgreSQL's `integer`. */
const number = z.int().positive().max(MAX_INT32);
const date = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

export const GitHubUser = z.object({
  id: id.nullish(),
  login: z.string().nullish(),
  type: z.string().nullish(),
});

export const GitHubLabel = z.object({
  id: id.nullish(),
  name: z.string(),
  color: z.string().nullish(),
  description: z.string().nullish(),
});
export type GitHubLabel = z.infer<typeof GitHubLabel>;

const viaApp = z.object({ id: id.nullish() }).nullish();

export const GitHubIssue = z.object({
  id,
  number,
  node_id: z.string().nullish(),
  title: z.string(),
  body: z.string().nullish(),
  state: z.enum(["open", "closed"]),
  state_reason: z.string().nullish(),
  // Not to be left out: an issue whose labels are not told must not lose those it has.
  labels: z
    .array(z.union([z.string(), GitHubLabel]).nullable())
    .transform((labels) => labels.filter((label) => label !== null)),
  user: GitHubUser.nullish(),
  author_association: z.string().nullish(),
  performed_via_github_app: viaApp,
  assignees: z.array(GitHubUser.nullable()).nullish(),
  milestone: z.object({ title: z.string() }).nullish(),
  locked: z.boolean().nullish(),
  html_url: z.string(),
  created_at: date,
  updated_at: date,
  closed_at: date.nullish(),
  /** Present when the number is a pull request's. */
  pull_request: z.object({}).nullish(),
  /** How many links GitHub has of it; a server that knows no such links leaves them out. */
  sub_issues_summary: z.object({ total: z.int() }).nullish().catch(null),
  issue_dependencies_summary: z.object({ total_blocked_by: z.int() }).nullish().catch(null),
  parent_issue_url: z.string().nullish(),
});
export type GitHubIssue = z.infer<typeof GitHubIssue>;

export const GitHubComment = z.object({
  id,
  body: z.string().nullish(),
  user: GitHubUser.nullish(),
  author_association: z.string().nullish(),
  performed_via_github_app: viaApp,
  html_url: z.string().nullish(),
  issue_url: z.string().nullish(),
  created_at: date,
  updated_at: date,
});
export type GitHubComment = z.infer<typeof GitHubComment>;

export const GitHubPull = z.object({
  id,
  number,
  title: z.string(),
  body: z.string().nullish(),
  state: z.enum(["open", "closed"]),
  draft: z.boolean().nullish(),
  merged: z.boolean().nullish(),
  merged_at: date.nullish(),
  merge_commit_sha: z.string().nullish(),
  base: z.object({ ref: z.string() }),
  head: z.object({ ref: z.string(), sha: z.string(), repo: z.object({ id }).nullish() }),
  user: GitHubUser.nullish(),
  author_association: z.string().nullish(),
  html_url: z.string(),
  created_at: date,
  updated_at: date,
  closed_at: date.nullish(),
  requested_reviewers: z.array(GitHubUser.nullable()).nullish(),
  requested_teams: z.array(z.object({ slug: z.string().nullish() })).nullish(),
  // Only of one pull request that was asked for; null while GitHub works it out.
  mergeable: z.boolean().nullish(),
  mergeable_state: z.string().nullish(),
});
export type GitHubPull = z.infer<typeof GitHubPull>;

export const GitHubRepository = z.object({
  id,
  name: z.string(),
  full_name: z.string(),
  default_branch: z.string().nullish(),
  archived: z.boolean().nullish(),
  html_url: z.string().nullish(),
  updated_at: date.nullish().catch(null),
  owner: z.object({ login: z.string().nullish(), id: id.nullish() }).nullish(),
});
export type GitHubRepository = z.infer<typeof GitHubRepository>;

const GitHubInstallation = z.object({
  id,
  account: z.object({ id: id.nullish(), login: z.string().nullish() }).nullish(),
  suspended_at: z.string().nullish(),
});

/** What every delivery may carry around its subject. */
export const deliveryEnvelope = {
  action: z.string().nullish(),
  repository: GitHubRepository.nullish(),
  sender: GitHubUser.nullish(),
  installation: GitHubInstallation.nullish(),
};

const linkEnd = z.object({ number }).nullish().catch(null);

export const Envelope = z.object({
  ...deliveryEnvelope,
  issue: z.object({ number }).nullish(),
  pull_request: z.object({ number }).nullish(),
  // Ends of a link, each of which may be left out.
  parent_issue: linkEnd,
  sub_issue: linkEnd,
  blocked_issue: linkEnd,
  blocking_issue: linkEnd,
});

const placed = z.object({ id, number }).nullish().catch(null);

export const IssuesPayload = z.object({
  ...deliveryEnvelope,
  action: z.string(),
  issue: GitHubIssue,
  label: GitHubLabel.nullish(),
  changes: z
    .object({
      body: z.object({ from: z.string().nullish() }).nullish(),
      // A transfer: where the issue came from, or where it went.
      old_issue: placed,
      old_repository: z.object({ id }).nullish().catch(null),
      new_issue: placed,
      new_repository: z.object({ id }).nullish().catch(null),
    })
    .nullish(),
});

export const IssueCommentPayload = z.object({
  ...deliveryEnvelope,
  action: z.string(),
  issue: GitHubIssue,
  comment: GitHubComment,
});

export const PullRequestPayload = z.object({
  ...deliveryEnvelope,
  action: z.string(),
  pull_request: GitHubPull,
});

export const GitHubReview = z.object({
  id,
  user: GitHubUser.nullish(),
  author_association: z.string().nullish(),
  state: z.string(),
  commit_id: z.string().nullish(),
  submitted_at: date.nullish(),
});
export type GitHubReview = z.infer<typeof GitHubReview>;

export const PullRequestReviewPayload = z.object({
  ...deliveryEnvelope,
  action: z.string(),
  pull_request: z.object({ number }),
  review: GitHubReview,
});

export const GitHubCheckSuite = z.object({
  id,
  head_sha: z.string(),
  head_branch: z.string().nullish(),
  app: z.object({ id: id.nullish(), slug: z.string().nullish() }).nullish(),
  status: z.string().nullish(),
  conclusion: z.string().nullish(),
  latest_check_runs_count: z.int().nullish(),
  updated_at: date,
});
export type GitHubCheckSuite = z.infer<typeof GitHubCheckSuite>;

export const CheckSuitePayload = z.object({
  ...deliveryEnvelope,
  action: z.string(),
  check_suite: GitHubCheckSuite,
});

const paths = z.array(z.string()).nullish();
const PushedCommit = z.object({ added: paths, modified: paths, removed: paths });

export const PushPayload = z.object({
  ...deliveryEnvelope,
  repository: GitHubRepository.extend({ pushed_at: z.union([z.int(), z.string()]).nullish() }).nullish(),
  ref: z.string(),
  before: z.string().nullish(),
  after: z.string(),
  created: z.boolean().nullish(),
  deleted: z.boolean().nullish(),
  forced: z.boolean().nullish(),
  pusher: z.object({ name: z.string().nullish() }).nullish(),
  // GitHub names at most 2,048 commits of a push. What cannot be read counts as left out.
  commits: z.array(PushedCommit).nullish().catch(null),
});

export const LabelPayload = z.object({ ...deliveryEnvelope, action: z.string(), label: GitHubLabel });

const RepositoryStub = z.object({ id, name: z.string(), full_name: z.string() });

export const InstallationPayload = z.object({
  ...deliveryEnvelope,
  action: z.string(),
  installation: GitHubInstallation,
  repositories: z.array(RepositoryStub).nullish(),
});

export const InstallationRepositoriesPayload = z.object({
  ...deliveryEnvelope,
  action: z.string(),
  installation: GitHubInstallation,
  repositories_added: z.array(RepositoryStub).nullish(),
  repositories_removed: z.array(RepositoryStub).nullish(),
});

export const RepositoryPayload = z.object({
  ...deliveryEnvelope,
  action: z.string(),
  repository: GitHubRepository,
});
