/**
 * Where the store and GitHub differ, field by field: for `doctor`, and for whoever reads GitHub and writes only what is
 * news. Pure functions of both sides.
 */

import type { IssueSnapshot } from "./mirror-merge.ts";

export interface FieldDrift {
  readonly field: string;
  /** As JSON; null also where that side has nothing. */
  readonly store: unknown;
  readonly github: unknown;
}

type Comparable = Readonly<Record<string, unknown>>;

/** Each field of `github` that `store` has otherwise. Lists of names are sets. */
export function fieldDrift(store: Comparable, github: Comparable): FieldDrift[] {
  return Object.entries(github).flatMap(([field, theirs]) => {
    const ours = store[field];
    return JSON.stringify(plain(ours)) === JSON.stringify(plain(theirs))
      ? []
      : [{ field, store: plain(ours), github: plain(theirs) }];
  });
}

/** As JSON has it. Names come in any order. */
function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(plain).sort();
  if (typeof value !== "object" || value === null) return value ?? null;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, plain(field)]));
}

/** What `doctor` compares of an issue: all that the mirror keeps of it, but for ids that hardly ever matter. */
export const issueFields = (issue: IssueSnapshot) => ({
  title: issue.title,
  body: issue.body,
  state: issue.open ? "open" : "closed",
  stateReason: issue.stateReason,
  labels: issue.labels,
  author: issue.authorLogin,
  assignees: issue.assignees,
  milestone: issue.milestone,
  locked: issue.locked,
  createdAt: issue.createdAt,
  updatedAt: issue.updatedAt,
  closedAt: issue.closedAt,
});

/** Whether the mirror has the issue just as it was read. */
export const isSameIssue = (store: IssueSnapshot, read: IssueSnapshot): boolean =>
  fieldDrift(issueFields(store), issueFields(read)).length === 0;

/** What `doctor` compares of a pull request: what decides about items, and what a person sees. */
export const pullFields = (pull: {
  readonly title: string;
  readonly body: string | null;
  readonly open: boolean;
  readonly draft: boolean;
  readonly mergedAt: Date | null;
  readonly closes: readonly number[];
  readonly branches: { readonly base: string; readonly head: string; readonly headSha: string } | null;
}) => ({
  title: pull.title,
  body: pull.body,
  state: pull.open ? "open" : "closed",
  draft: pull.draft,
  mergedAt: pull.mergedAt,
  closes: pull.closes,
  base: pull.branches?.base ?? null,
  head: pull.branches?.head ?? null,
  headSha: pull.branches?.headSha ?? null,
});
