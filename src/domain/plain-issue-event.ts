/**
 * What an event on an issue changes when nothing need be asked of GitHub for it and nothing is told to anybody: the mirror's
 * row, and perhaps the item's priority. Most events are such, and many of them can be applied in one transaction. The rules
 * are those of every event (`issue-transitions.ts`, `mirror-merge.ts`); this only says which of them come to no more.
 */

import {
  type IssueEvent,
  isGone,
  type KnownIssue,
  type KnownItem,
  readsNeeded,
  transitionsOf,
} from "./issue-transitions.ts";
import { type IssueSnapshot, mergeIssue } from "./mirror-merge.ts";
import type { RepositorySettings } from "./settings.ts";

export interface PlainFacts {
  readonly event: IssueEvent;
  readonly incoming: IssueSnapshot;
  /** As the mirror has it. */
  readonly stored: IssueSnapshot;
  readonly item: KnownItem | null;
  readonly settings: RepositorySettings;
  /** The sender's login: who is behind it was not asked. */
  readonly login: string;
}

export interface PlainChange {
  /** The issue as the mirror is to have it; null: as it is. */
  readonly issue: IssueSnapshot | null;
  /** The values of the item's `priority:` tags; null: as they are. */
  readonly priorities: readonly string[] | null;
}

export const knownIssue = (issue: IssueSnapshot): KnownIssue => ({
  open: issue.open,
  stateReason: issue.stateReason,
  labels: issue.labels,
});

/** All that the event changes; null: it may be more than a plain change, and has to be decided by itself. */
export function plainChange(facts: PlainFacts): PlainChange | null {
  const { event, incoming, stored, item, settings, login } = facts;
  if (isGone(event)) return null;
  const change = mergeIssue(stored, incoming, event);
  const saved = change.kind === "save" ? change.issue : null;
  const issue = knownIssue(saved ?? stored);
  if (Object.values(readsNeeded(event, issue, item, settings)).some(Boolean)) return null;
  const plan = transitionsOf({
    event,
    issue,
    item,
    settings,
    actor: { login, human: false },
    author: { login: (saved ?? stored).authorLogin, human: false },
    gateIsExplained: false,
    closedFor: null,
    staleBy: null,
    closedByWrongMerge: false,
  });
  const [only] = plan;
  if (only === undefined) return { issue: saved, priorities: null };
  if (plan.length > 1 || only.kind !== "priorities") return null;
  return { issue: saved, priorities: only.values };
}
