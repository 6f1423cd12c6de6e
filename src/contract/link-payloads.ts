/**
 * GitHub's events about its own links between issues, and the issues that its lists of links hold. Each end is read
 * loosely: of an issue in another repository GitHub may tell little, and sometimes nothing but its id.
 */

import { z } from "zod";
import { deliveryEnvelope, GitHubIssue } from "./github-payloads.ts";
import { MAX_INT32 } from "./text.ts";

const id = z.int().nonnegative();

const RepositoryStub = z.object({ id, full_name: z.string() });
export type RepositoryStub = z.infer<typeof RepositoryStub>;

/** One end of a link. What else is told of the issue is kept, and read by `wholeIssue`. */
export const LinkedIssue = z.looseObject({
  id,
  number: z.int().positive().max(MAX_INT32),
  updated_at: z.iso.datetime({ offset: true }).nullish(),
  /** `…/repos/{owner}/{name}`. */
  repository_url: z.string().nullish(),
  repository: RepositoryStub.nullish().catch(null),
  pull_request: z.object({}).nullish(),
  state: z.enum(["open", "closed"]).nullish().catch(null),
  state_reason: z.string().nullish().catch(null),
});
export type LinkedIssue = z.infer<typeof LinkedIssue>;

/** The issue as the mirror takes it, when GitHub told all of it. */
export const wholeIssue = (issue: LinkedIssue): GitHubIssue | null =>
  GitHubIssue.safeParse(issue).data ?? null;

const end = LinkedIssue.nullish();
const repo = RepositoryStub.nullish();

export const SubIssuesPayload = z.object({
  ...deliveryEnvelope,
  action: z.string(),
  parent_issue_id: id.nullish(),
  parent_issue: end,
  parent_issue_repo: repo,
  sub_issue_id: id.nullish(),
  sub_issue: end,
  sub_issue_repo: repo,
});
export type SubIssuesPayload = z.infer<typeof SubIssuesPayload>;

export const IssueDependenciesPayload = z.object({
  ...deliveryEnvelope,
  action: z.string(),
  blocked_issue_id: id.nullish(),
  blocked_issue: end,
  blocked_issue_repo: repo,
  blocking_issue_id: id.nullish(),
  blocking_issue: end,
  blocking_issue_repo: repo,
});
export type IssueDependenciesPayload = z.infer<typeof IssueDependenciesPayload>;
