import type { Json, JsonObject } from "../json.ts";

/*
 * What the fake knows. Everything here is plain data: the files beside this one change it, `payloads/`
 * turns it into GitHub's JSON. Pull requests are issues with a `pull` part, as on GitHub, where the two
 * share their numbers, labels and comments.
 */

export type AccountType = "User" | "Bot" | "Organization" | "Mannequin";

export type Account = {
  id: number;
  login: string;
  type: AccountType;
  /** Logins, in lower case, that belong to an organization. */
  members: Set<string>;
  /** A deleted account: what it wrote shows `user: null`. */
  deleted: boolean;
};

export type Role = "none" | "read" | "triage" | "write" | "maintain" | "admin";

export type Permissions = { [name: string]: "read" | "write" };

/** A GitHub App as others see it: the app under test, or one that a user or bot acts through. */
export type GitHubApp = {
  id: number;
  slug: string;
  clientId: string;
  owner: Account;
  permissions: Permissions;
  events: string[];
  createdAt: Date;
};

/** Who does something. `viaApp` is what GitHub shows as `performed_via_github_app`. */
export type Actor = { account: Account; viaApp: GitHubApp | null };

export type Label = {
  id: number;
  name: string;
  color: string;
  description: string | null;
};

export type Comment = {
  id: number;
  body: string;
  author: Account;
  viaApp: GitHubApp | null;
  createdAt: Date;
  updatedAt: Date;
};

export type IssueEvent = {
  id: number;
  event: string;
  actor: Account;
  viaApp: GitHubApp | null;
  createdAt: Date;
  commitId: string | null;
  details: JsonObject;
};

export type StateReason = "completed" | "not_planned" | "duplicate" | "reopened";

export type ReviewState = "approved" | "changes_requested" | "commented" | "dismissed";

export type Review = {
  id: number;
  author: Account;
  state: ReviewState;
  body: string;
  commitId: string;
  submittedAt: Date;
};

export type Pull = {
  id: number;
  headRepository: Repository;
  headRef: string;
  headSha: string;
  baseRef: string;
  /** The base branch's tip when the pull request was last opened, pushed or retargeted. */
  baseSha: string;
  draft: boolean;
  merged: { at: Date; by: Account; sha: string } | null;
  mergeability: { mergeable: boolean | null; state: string } | null;
  reviews: Review[];
  requestedReviewers: Account[];
};

export type Issue = {
  id: number;
  repository: Repository;
  number: number;
  title: string;
  body: string | null;
  author: Account;
  viaApp: GitHubApp | null;
  state: "open" | "closed";
  stateReason: StateReason | null;
  labels: Label[];
  assignees: Account[];
  /** Its title. */
  milestone: string | null;
  locked: boolean;
  comments: Comment[];
  events: IssueEvent[];
  createdAt: Date;
  updatedAt: Date;
  closedAt: Date | null;
  closedBy: Account | null;
  parent: Issue | null;
  subIssues: Issue[];
  blockedBy: Issue[];
  blocking: Issue[];
  pull: Pull | null;
};

export type Gone = { kind: "deleted" } | { kind: "transferred"; to: Issue };

export type FileTree = ReadonlyMap<string, string>;

export type Commit = {
  sha: string;
  message: string;
  author: Account;
  parents: string[];
  files: FileTree;
  at: Date;
};

export type CheckStatus = "queued" | "in_progress" | "completed";

export type CheckSuite = {
  id: number;
  app: GitHubApp;
  headSha: string;
  headBranch: string | null;
  status: CheckStatus;
  conclusion: string | null;
  runs: CheckRun[];
  createdAt: Date;
  updatedAt: Date;
};

export type CheckRun = {
  id: number;
  suite: CheckSuite;
  name: string;
  status: CheckStatus;
  conclusion: string | null;
  externalId: string | null;
  detailsUrl: string | null;
  output: { title: Json; summary: Json; text: Json };
  startedAt: Date | null;
  completedAt: Date | null;
};

export type CommitStatus = {
  id: number;
  sha: string;
  state: "error" | "failure" | "pending" | "success";
  context: string;
  description: string | null;
  author: Account;
  at: Date;
};

export type Repository = {
  id: number;
  owner: Account;
  name: string;
  private: boolean;
  archived: boolean;
  deleted: boolean;
  defaultBranch: string;
  forkOf: Repository | null;
  /** `owner/name` in lower case, of earlier: GitHub redirects from there. */
  formerNames: string[];
  /** By login in lower case. */
  collaborators: Map<string, Role>;
  /** Logins in lower case with a commit on the default branch. */
  contributors: Set<string>;
  /** By name in lower case: names match without regard to case. */
  labels: Map<string, Label>;
  issues: Map<number, Issue>;
  gone: Map<number, Gone>;
  lastNumber: number;
  branches: Map<string, string>;
  renamedBranches: Map<string, string>;
  checkSuites: CheckSuite[];
  statuses: CommitStatus[];
  createdAt: Date;
  updatedAt: Date;
  pushedAt: Date;
  /** How many entries of a tree are listed at once; GitHub's own limit unless a test wants it met. */
  maxTreeEntries?: number;
};

export type Installation = {
  id: number;
  account: Account;
  repositories: Set<Repository>;
  permissions: Permissions;
  createdAt: Date;
  updatedAt: Date;
  suspended: { at: Date; by: Account } | null;
};

export function fullName(repository: Repository): string {
  return `${repository.owner.login}/${repository.name}`;
}
