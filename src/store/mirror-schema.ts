/** The tables that mirror GitHub, as Kysely sees them. GitHub is their only writer. */

import type { ColumnType } from "kysely";
import type { BodyTrail } from "../domain/body-trail.ts";

type Timestamp = ColumnType<Date, Date | string, Date | string>;
type Defaulted<T> = ColumnType<T, T | undefined, T>;

/** A `BodyTrail`, as JSON. */
type KeptTrail = Omit<BodyTrail, "untoldAsOf"> & { readonly untoldAsOf: string | null };

export interface IssueTable {
  repository_id: number;
  number: number;
  id: number;
  node_id: string | null;
  title: string;
  body: string | null;
  state: "open" | "closed";
  state_reason: string | null;
  labels: string[];
  author_id: number | null;
  author_login: string | null;
  author_type: string | null;
  author_association: string | null;
  via_app_id: number | null;
  assignees: string[];
  milestone: string | null;
  locked: boolean;
  html_url: string;
  gone: string | null;
  created_at: Timestamp;
  updated_at: Timestamp;
  closed_at: Timestamp | null;
  body_trail: ColumnType<KeptTrail | null, never, never>;
  body_untold_since: ColumnType<Date | null, never, never>;
}

export interface IssueCommentTable {
  repository_id: number;
  id: number;
  issue_number: number;
  body: string;
  author_id: number | null;
  author_login: string | null;
  author_type: string | null;
  author_association: string | null;
  via_app_id: number | null;
  html_url: string | null;
  deleted: Defaulted<boolean>;
  created_at: Timestamp;
  updated_at: Timestamp;
}

export interface LabelTable {
  repository_id: number;
  id: number;
  name: string;
  color: string | null;
  description: string | null;
}

export interface PullRequestTable {
  repository_id: number;
  number: number;
  id: number;
  title: string;
  body: string | null;
  state: "open" | "closed";
  draft: boolean;
  merged_at: Timestamp | null;
  merge_sha: string | null;
  base_ref: string | null;
  head_ref: string | null;
  head_sha: string | null;
  head_repository_id: number | null;
  author_id: number | null;
  author_login: string | null;
  author_type: string | null;
  author_association: string | null;
  html_url: string;
  created_at: Timestamp;
  updated_at: Timestamp;
  closed_at: Timestamp | null;
  review_asked: Defaulted<string[]>;
  head_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  read_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  read_head: Defaulted<string | null>;
  read_base: Defaulted<string | null>;
  mergeable: Defaulted<boolean | null>;
  mergeable_state: Defaulted<string | null>;
  reads: Defaulted<number>;
  moved_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  reviews_due: Defaulted<boolean>;
  read_due_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  read_leased_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
  check_run_id: Defaulted<number | null>;
  check_head: Defaulted<string | null>;
  check_conclusion: Defaulted<string | null>;
  check_said: Defaulted<string | null>;
}

export interface OwnPullTable {
  repository_id: number;
  number: number;
  pull_number: number;
}

export interface PullRequestClosesTable {
  repository_id: number;
  pull_number: number;
  issue_number: number;
}

export interface PullRequestReviewTable {
  repository_id: number;
  id: number;
  pull_number: number;
  reviewer_id: number | null;
  reviewer_login: string | null;
  state: string;
  commit_sha: string | null;
  submitted_at: Timestamp | null;
  reviewer_type: string | null;
  reviewer_association: string | null;
}

export interface CheckSuiteTable {
  repository_id: number;
  id: number;
  head_sha: string;
  head_branch: string | null;
  app_slug: string | null;
  status: string | null;
  conclusion: string | null;
  runs: number | null;
  updated_at: Timestamp;
}

export interface BranchTable {
  repository_id: number;
  name: string;
  head_sha: string | null;
  pusher_id: number | null;
  pusher_login: string | null;
  pusher_type: string | null;
  by_human: boolean | null;
  pushed_at: Timestamp;
}

export interface MirrorTables {
  issue: IssueTable;
  issue_comment: IssueCommentTable;
  label: LabelTable;
  pull_request: PullRequestTable;
  pull_request_closes: PullRequestClosesTable;
  pull_request_review: PullRequestReviewTable;
  check_suite: CheckSuiteTable;
  branch: BranchTable;
  own_pull: OwnPullTable;
}
