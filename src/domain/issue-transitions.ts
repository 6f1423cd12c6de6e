/**
 * What an event on an issue means for its item: enrolment, admission, parking by label, completion,
 * cancellation, reopening (protocol 2, 3, 5, 8). Facts in, a plan out; services carry it out.
 */

import type { ItemState } from "./item-state.ts";
import type { RepositorySettings } from "./settings.ts";
import { hasLabel, prioritiesOfLabels, sameLabel } from "./tags.ts";

export interface IssueEvent {
  readonly action: string;
  /** The label of `labeled` and `unlabeled`; null when GitHub leaves it out (a deleted label). */
  readonly label: string | null;
  readonly bodyChanged: boolean;
  /** GitHub's time of the event. */
  readonly at: Date;
}

export interface KnownItem {
  readonly enrolled: boolean;
  readonly admitted: boolean;
  readonly admissionAt: Date;
  readonly state: ItemState;
  /** GitHub's time of the event that decided the state; null when Leasehold itself did, or nothing yet. */
  readonly stateEventAt: Date | null;
  readonly priorities: readonly string[];
}

/** The issue as the mirror has it after the event. */
export interface KnownIssue {
  readonly open: boolean;
  readonly stateReason: string | null;
  readonly labels: readonly string[];
}

/** What must be asked of GitHub before the event can be decided. */
export interface ReadsNeeded {
  /** The sender's rights. */
  readonly sender: boolean;
  /** The author's rights: the issue becomes an item. */
  readonly author: boolean;
  /** The issue's event list, to see whether a person's token was used through an app. */
  readonly events: boolean;
  /** Pull requests that name the issue: GitHub closes on a merge in the merger's name. */
  readonly pulls: boolean;
}

const wantsItem = (issue: KnownIssue, settings: RepositorySettings): boolean =>
  issue.open && (settings.enrollAll || hasLabel(issue.labels, settings.labels.backlog));

const isLabelEvent = (event: IssueEvent, action: "labeled" | "unlabeled", name: string): boolean =>
  event.action === action && event.label !== null && sameLabel(event.label, name);

/** Which reads the decision needs: none for most events. */
export function readsNeeded(
  event: IssueEvent,
  issue: KnownIssue,
  item: KnownItem | null,
  settings: RepositorySettings,
): ReadsNeeded {
  const { gate, stale } = settings.labels;
  if (item === null)
    return { sender: false, author: wantsItem(issue, settings), events: false, pulls: false };
  const removal = isLabelEvent(event, "unlabeled", gate) || isLabelEvent(event, "unlabeled", stale);
  const closed = event.action === "closed";
  const edited = event.action === "edited" && event.bodyChanged && item.admitted;
  const parks = isLabelEvent(event, "labeled", stale);
  return {
    sender: removal || closed || edited || parks,
    author: false,
    events: removal || closed || parks,
    pulls: closed,
  };
}

export interface IssueFacts {
  readonly event: IssueEvent;
  readonly issue: KnownIssue;
  readonly item: KnownItem | null;
  readonly settings: RepositorySettings;
  readonly actor: { readonly login: string; readonly human: boolean };
  readonly author: { readonly login: string | null; readonly human: boolean };
  /** GitHub closed the issue because a pull request naming it merged into another branch than the item's. */
  readonly closedByWrongMerge: boolean;
}

export type Transition =
  | { readonly kind: "enrol"; readonly admitted: boolean; readonly by: string | null }
  | { readonly kind: "enrolled"; readonly enrolled: boolean }
  | { readonly kind: "admit"; readonly by: string }
  | { readonly kind: "withdraw"; readonly why: string }
  | { readonly kind: "add_label"; readonly label: string }
  | { readonly kind: "agent_removed_label"; readonly label: string; readonly by: string }
  | { readonly kind: "park"; readonly by: string }
  | { readonly kind: "unpark"; readonly by: string }
  | { readonly kind: "complete"; readonly by: string }
  | { readonly kind: "cancel"; readonly by: string }
  | { readonly kind: "reopen"; readonly by: string }
  | { readonly kind: "priorities"; readonly values: readonly string[] };

/** The plan for one event. Doing it twice, or late, changes nothing more. */
export function transitionsOf(facts: IssueFacts): Transition[] {
  const { item, issue, settings } = facts;
  if (item === null) return wantsItem(issue, settings) ? enrol(facts) : [];
  return [
    ...enrolment(item, facts),
    ...admission(item, facts),
    ...parking(item, facts),
    ...ending(item, facts),
  ];
}

function enrol({ issue, settings, author }: IssueFacts): Transition[] {
  const gated = hasLabel(issue.labels, settings.labels.gate);
  const admitted = author.human && !gated;
  const plan: Transition[] = [{ kind: "enrol", admitted, by: admitted ? author.login : null }];
  if (!admitted && !gated) plan.push({ kind: "add_label", label: settings.labels.gate });
  return plan;
}

function enrolment(item: KnownItem, { issue, settings }: IssueFacts): Transition[] {
  const plan: Transition[] = [];
  const wanted = settings.enrollAll || hasLabel(issue.labels, settings.labels.backlog);
  if (wanted !== item.enrolled) plan.push({ kind: "enrolled", enrolled: wanted });
  const asked = prioritiesOfLabels(issue.labels);
  const values = asked.length > 0 ? asked : [settings.defaults.priority];
  if (values.join() !== [...item.priorities].sort().join()) plan.push({ kind: "priorities", values });
  return plan;
}

function admission(item: KnownItem, facts: IssueFacts): Transition[] {
  const { event, issue, settings, actor } = facts;
  const { gate } = settings.labels;
  const late = event.at < item.admissionAt;
  const restore: Transition[] = [{ kind: "add_label", label: gate }];

  if (isLabelEvent(event, "labeled", gate)) {
    return item.admitted && !late ? [{ kind: "withdraw", why: `${gate} was added by @${actor.login}` }] : [];
  }
  if (isLabelEvent(event, "unlabeled", gate)) {
    if (item.admitted || late) return [];
    if (actor.human) return hasLabel(issue.labels, gate) ? [] : [{ kind: "admit", by: actor.login }];
    return [...restore, { kind: "agent_removed_label", label: gate, by: actor.login }];
  }
  if (event.action === "edited" && event.bodyChanged && item.admitted && !actor.human && !late) {
    return [{ kind: "withdraw", why: `@${actor.login}, without triage rights, edited the body` }, ...restore];
  }
  // Fails closed: an item that is not admitted shows it, whatever took the label away (a deleted label, say).
  const shows = hasLabel(issue.labels, gate);
  return !item.admitted && !shows && issue.open && item.state === null ? restore : [];
}

function parking(item: KnownItem, { event, issue, settings, actor }: IssueFacts): Transition[] {
  const { stale } = settings.labels;
  const late = item.stateEventAt !== null && event.at < item.stateEventAt;
  if (isLabelEvent(event, "labeled", stale)) {
    // Other tools use the name: only a human's label parks.
    const parks = item.state === null && actor.human && hasLabel(issue.labels, stale) && !late;
    return parks ? [{ kind: "park", by: actor.login }] : [];
  }
  if (isLabelEvent(event, "unlabeled", stale) && item.state === "parked" && !late) {
    if (actor.human) return hasLabel(issue.labels, stale) ? [] : [{ kind: "unpark", by: actor.login }];
    return [
      { kind: "add_label", label: stale },
      { kind: "agent_removed_label", label: stale, by: actor.login },
    ];
  }
  return [];
}

function ending(item: KnownItem, { event, issue, actor, closedByWrongMerge }: IssueFacts): Transition[] {
  const late = item.stateEventAt !== null && event.at < item.stateEventAt;
  if (event.action === "reopened" && issue.open && !late) {
    const ended = item.state === "complete" || item.state === "cancelled";
    return ended ? [{ kind: "reopen", by: actor.login }] : [];
  }
  if (event.action === "deleted" || event.action === "transferred") {
    return item.state === "complete" || item.state === "cancelled"
      ? []
      : [{ kind: "cancel", by: actor.login }];
  }
  if (event.action !== "closed" || issue.open || !actor.human || closedByWrongMerge) return [];
  if (item.state === "complete" || item.state === "cancelled") return [];
  const completed = issue.stateReason === "completed" || issue.stateReason === null;
  return [{ kind: completed ? "complete" : "cancel", by: actor.login }];
}
