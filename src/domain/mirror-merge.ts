/**
 * How an issue's snapshot joins the mirror. GitHub sends events late, twice and in any order, with
 * timestamps of whole seconds; an older snapshot never overwrites a newer one (github-cases 4, 5).
 */

import { sameLabel } from "./tags.ts";

export interface IssueSnapshot {
  readonly number: number;
  readonly id: number;
  readonly nodeId: string | null;
  readonly title: string;
  readonly body: string | null;
  readonly open: boolean;
  readonly stateReason: string | null;
  readonly labels: readonly string[];
  readonly authorId: number | null;
  readonly authorLogin: string | null;
  readonly authorType: string | null;
  readonly authorAssociation: string | null;
  readonly viaAppId: number | null;
  readonly assignees: readonly string[];
  readonly milestone: string | null;
  readonly locked: boolean;
  readonly url: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly closedAt: Date | null;
}

/** What an event says besides its snapshot. Null action: the issue was read, not announced. */
export interface IssueDelta {
  readonly action: string | null;
  readonly label: string | null;
  /** Whether an edit was one of the body; absent: it may have been. */
  readonly bodyChanged?: boolean;
}

export type MirrorChange =
  | { readonly kind: "older" }
  | { readonly kind: "save"; readonly issue: IssueSnapshot };

/** Decides what becomes of the stored issue. The event's own label always counts over its snapshot's list. */
export function mergeIssue(
  stored: IssueSnapshot | null,
  incoming: IssueSnapshot,
  delta: IssueDelta,
): MirrorChange {
  if (stored === null) return { kind: "save", issue: withDelta(incoming, delta) };
  const age = incoming.updatedAt.getTime() - stored.updatedAt.getTime();
  if (age < 0) return { kind: "older" };
  if (age > 0) return { kind: "save", issue: withDelta(incoming, delta) };
  return sameSecond(stored, incoming, delta);
}

/** Within one second order is unknown: only what the action is about changes, the rest stays as it was. */
function sameSecond(stored: IssueSnapshot, incoming: IssueSnapshot, delta: IssueDelta): MirrorChange {
  switch (delta.action) {
    case "labeled":
    case "unlabeled":
      return { kind: "save", issue: withDelta(stored, delta) };
    case "edited":
      return {
        kind: "save",
        issue: {
          ...stored,
          title: incoming.title,
          body: delta.bodyChanged === false ? stored.body : incoming.body,
        },
      };
    case "closed":
    case "reopened":
      return {
        kind: "save",
        issue: {
          ...stored,
          open: incoming.open,
          stateReason: incoming.stateReason,
          closedAt: incoming.closedAt,
        },
      };
    case "assigned":
    case "unassigned":
      return { kind: "save", issue: { ...stored, assignees: incoming.assignees } };
    case "milestoned":
    case "demilestoned":
      return { kind: "save", issue: { ...stored, milestone: incoming.milestone } };
    case "locked":
    case "unlocked":
      return { kind: "save", issue: { ...stored, locked: incoming.locked } };
    default:
      // `opened` is the oldest event there is; a read may have been taken before the event.
      return { kind: "older" };
  }
}

function withDelta(issue: IssueSnapshot, delta: IssueDelta): IssueSnapshot {
  const name = delta.label;
  if (name === null) return issue;
  const others = issue.labels.filter((label) => !sameLabel(label, name));
  if (delta.action === "unlabeled") return { ...issue, labels: others };
  if (delta.action !== "labeled" || others.length < issue.labels.length) return issue;
  return { ...issue, labels: [...issue.labels, name] };
}
