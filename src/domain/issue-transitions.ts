/**
 * What an event on an issue means for its item: enrolment, admission, parking by label, completion,
 * cancellation, reopening (protocol 2, 3, 5, 8). Facts in, a plan out; services carry it out.
 */

import type { ItemState } from "./item-state.ts";
import type { RepositorySettings } from "./settings.ts";
import { hasLabel, type Priority, prioritiesOfLabels, sameLabel } from "./tags.ts";

export interface IssueEvent {
  /** GitHub's, and `converted`: closed because it became a discussion, of which only the event list tells. */
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
  /** GitHub's time of a human's last reopening of the issue while the item was live: it ends nothing, and parks nothing. */
  readonly openSince: Date | null;
  readonly priorities: readonly string[];
  /** What it has without a priority label: its epic's, else the default. */
  readonly fallbackPriority: Priority;
  /** Held, quarantined or in review: it is not parked now (protocol 5). */
  readonly isLeftAlone: boolean;
  /** A human asked for it to be parked when that is over. */
  readonly parkAsked: boolean;
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
  /** The issue's event list, to see whether a person's token was used through an app, and what was done since. */
  readonly events: boolean;
  /** Pull requests that name the issue: GitHub closes on a merge in the merger's name. */
  readonly pulls: boolean;
  /** Who put the stale label on an issue that becomes an item. */
  readonly stale: boolean;
  /** What became of the gate label, which is not where it should be: its own news may still be to come. */
  readonly gate: boolean;
}

/** Whether an issue with these labels is to be an item. */
export const isWanted = (issue: KnownIssue, settings: RepositorySettings): boolean =>
  settings.enrollAll || hasLabel(issue.labels, settings.labels.backlog);

const DEPARTURES: readonly string[] = ["deleted", "transferred", "converted"];

/** The issue is no longer there: nothing begins on it, and nothing can be written to it. */
export const isGone = (event: IssueEvent): boolean => DEPARTURES.includes(event.action);

const wantsItem = (event: IssueEvent, issue: KnownIssue, settings: RepositorySettings): boolean =>
  issue.open && !isGone(event) && isWanted(issue, settings);

const isBodyEdit = (event: IssueEvent): boolean => event.action === "edited" && event.bodyChanged;

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
  if (item === null) {
    const enrols = wantsItem(event, issue, settings);
    const shows = enrols && hasLabel(issue.labels, stale);
    const parks = shows && isLabelEvent(event, "labeled", stale);
    const reopens = enrols && event.action === "reopened";
    return {
      sender: parks || reopens || (enrols && isBodyEdit(event)),
      author: enrols,
      events: parks || reopens,
      pulls: false,
      stale: shows && !parks,
      gate: false,
    };
  }
  const removal = isLabelEvent(event, "unlabeled", gate) || isLabelEvent(event, "unlabeled", stale);
  const closed = event.action === "closed";
  const edited = isBodyEdit(event) && item.admitted;
  const parks = isLabelEvent(event, "labeled", stale);
  const withdraws = isLabelEvent(event, "labeled", gate) && item.admitted;
  const reopens = event.action === "reopened" && item.state !== "parked";
  return {
    sender: removal || closed || edited || parks || reopens,
    author: false,
    events: removal || closed || parks || withdraws || reopens,
    pulls: closed,
    stale: false,
    gate: !removal && isGateMissing(event, issue, item, settings),
  };
}

/** An item that is not admitted must show it, whatever took the label away (a deleted label, say). */
function isGateMissing(
  event: IssueEvent,
  issue: KnownIssue,
  item: KnownItem,
  settings: RepositorySettings,
): boolean {
  return (
    !item.admitted &&
    issue.open &&
    (!isEnded(item) || event.action === "reopened") &&
    isWanted(issue, settings) &&
    !isGone(event) &&
    !hasLabel(issue.labels, settings.labels.gate)
  );
}

const isEnded = ({ state }: KnownItem): boolean => state === "complete" || state === "cancelled";

export interface IssueFacts {
  readonly event: IssueEvent;
  readonly issue: KnownIssue;
  readonly item: KnownItem | null;
  readonly settings: RepositorySettings;
  readonly actor: { readonly login: string; readonly human: boolean };
  /** The event list says that the gate label is on again, or that a human took it off: that news will come. */
  readonly gateIsExplained: boolean;
  /** Who vouches for an issue that becomes an item. */
  readonly author: { readonly login: string | null; readonly human: boolean };
  /** The human who put the stale label on an issue that becomes an item; null: nobody did, or no human. */
  readonly staleBy: string | null;
  /** Why the issue was closed, by the act itself: the issue may be open again. */
  readonly closedFor: string | null;
  /** GitHub closed the issue because a pull request naming it merged into another branch than the item's. */
  readonly closedByWrongMerge: boolean;
}

/** `at`: GitHub's time of the act, where it is not that of the event. */
export type Transition =
  | { readonly kind: "enrol"; readonly admitted: boolean; readonly by: string | null }
  | { readonly kind: "enrolled"; readonly enrolled: boolean }
  | { readonly kind: "admit"; readonly by: string }
  | { readonly kind: "withdraw"; readonly why: string }
  | { readonly kind: "add_label"; readonly label: string }
  | { readonly kind: "agent_removed_label"; readonly label: string; readonly by: string }
  | { readonly kind: "park"; readonly by: string }
  /** When nobody is at it any more; null: no longer. */
  | { readonly kind: "ask_park"; readonly by: string | null }
  | { readonly kind: "unpark"; readonly by: string }
  | { readonly kind: "complete"; readonly by: string; readonly at?: Date }
  | { readonly kind: "cancel"; readonly by: string; readonly at?: Date }
  | { readonly kind: "reopen"; readonly by: string; readonly at?: Date }
  /** Nothing changes, but what came before the reopening decides nothing any more. */
  | { readonly kind: "still_open"; readonly at: Date }
  | { readonly kind: "priorities"; readonly values: readonly string[] };

/** The plan for one event. Doing it twice, or late, changes nothing more. */
export function transitionsOf(facts: IssueFacts): Transition[] {
  const { event, item, issue, settings } = facts;
  if (item === null) return wantsItem(event, issue, settings) ? enrol(facts) : [];
  return [
    ...enrolment(item, facts),
    ...admission(item, facts),
    ...parking(item, facts),
    ...ending(item, facts),
  ];
}

function enrol({ event, issue, settings, author, actor, staleBy }: IssueFacts): Transition[] {
  const gated = hasLabel(issue.labels, settings.labels.gate);
  // The news of the edit may overtake that of the opening: nobody vouches for the text as it is now.
  const isRewritten = isBodyEdit(event) && !actor.human;
  const admitted = author.human && !gated && !isRewritten;
  const plan: Transition[] = [{ kind: "enrol", admitted, by: admitted ? author.login : null }];
  if (!admitted && !gated) plan.push({ kind: "add_label", label: settings.labels.gate });
  // A merge before the reopening, of which the news is late, must not end what begins with it.
  if (event.action === "reopened" && actor.human) plan.push({ kind: "still_open", at: event.at });
  const isParking = isLabelEvent(event, "labeled", settings.labels.stale) && actor.human;
  const parkedBy = isParking ? actor.login : staleBy;
  if (parkedBy !== null && hasLabel(issue.labels, settings.labels.stale))
    plan.push({ kind: "park", by: parkedBy });
  return plan;
}

function enrolment(item: KnownItem, { issue, settings }: IssueFacts): Transition[] {
  const plan: Transition[] = [];
  const enrolled = isWanted(issue, settings);
  if (enrolled !== item.enrolled) plan.push({ kind: "enrolled", enrolled });
  const asked = prioritiesOfLabels(issue.labels);
  const values = asked.length > 0 ? asked : [item.fallbackPriority];
  if (values.join() !== [...item.priorities].sort().join()) plan.push({ kind: "priorities", values });
  return plan;
}

function admission(item: KnownItem, facts: IssueFacts): Transition[] {
  const { event, issue, settings, actor } = facts;
  const { gate } = settings.labels;
  const late = event.at < item.admissionAt;
  const shows = hasLabel(issue.labels, gate);
  // An issue that is no item keeps what people do to its labels.
  const isKept = isWanted(issue, settings) && !isGone(event);
  const restore: Transition[] = isKept && !shows ? [{ kind: "add_label", label: gate }] : [];

  if (isLabelEvent(event, "labeled", gate)) {
    if (!item.admitted || late) return [];
    const why = `${gate} was added by @${actor.login}`;
    return [{ kind: "withdraw", why }, ...restore];
  }
  if (isLabelEvent(event, "unlabeled", gate)) {
    if (item.admitted || late) return [];
    if (actor.human) return shows ? [] : [{ kind: "admit", by: actor.login }];
    return isKept ? [...restore, { kind: "agent_removed_label", label: gate, by: actor.login }] : [];
  }
  if (isBodyEdit(event) && item.admitted && !actor.human && !late) {
    return [{ kind: "withdraw", why: `@${actor.login}, without triage rights, edited the body` }, ...restore];
  }
  // Whoever deletes the label's definition takes it off every issue, and admits none of them (github-cases 19).
  const isDeleted = event.action === "unlabeled" && event.label === null;
  const isExplained = facts.gateIsExplained && !isDeleted;
  return isGateMissing(event, issue, item, settings) && !isExplained ? restore : [];
}

function parking(item: KnownItem, { event, issue, settings, actor }: IssueFacts): Transition[] {
  const { stale } = settings.labels;
  const late = item.stateEventAt !== null && event.at < item.stateEventAt;
  if (isLabelEvent(event, "labeled", stale)) {
    // Other tools use the name: only a human's label parks.
    if (item.state !== null || item.parkAsked || !actor.human || late) return [];
    return [{ kind: item.isLeftAlone ? "ask_park" : "park", by: actor.login }];
  }
  const isAsked = item.state === null && item.parkAsked;
  const isParked = item.state === "parked" || isAsked;
  if (isLabelEvent(event, "unlabeled", stale) && isParked && !late) {
    const undo: Transition = isAsked ? { kind: "ask_park", by: null } : { kind: "unpark", by: actor.login };
    if (actor.human) return hasLabel(issue.labels, stale) ? [] : [undo];
    const record: Transition = { kind: "agent_removed_label", label: stale, by: actor.login };
    return hasLabel(issue.labels, stale) ? [record] : [{ kind: "add_label", label: stale }, record];
  }
  // Whoever deletes a label's definition takes it off every issue, and rules on none of them.
  const isDeleted = event.action === "unlabeled" && event.label === null;
  if (isDeleted && isParked && !hasLabel(issue.labels, stale)) return [{ kind: "add_label", label: stale }];
  return [];
}

/** When it was last decided whether the item is over; a merge or a close of before decides nothing any more. */
export function endDecidedAt({
  stateEventAt,
  openSince,
}: Pick<KnownItem, "stateEventAt" | "openSince">): Date | null {
  if (stateEventAt === null || openSince === null) return stateEventAt ?? openSince;
  return stateEventAt > openSince ? stateEventAt : openSince;
}

/** Only a human ends an item or brings it back (protocol 8), whatever agents did to the issue since. */
function ending(item: KnownItem, facts: IssueFacts): Transition[] {
  const { event, issue, actor, closedByWrongMerge } = facts;
  const decidedAt = endDecidedAt(item);
  const late = decidedAt !== null && event.at < decidedAt;
  if (event.action === "reopened" && !late) {
    // An agent's leaves the item at its end, and the two stores' differing is a defect.
    if (!actor.human) return [];
    const isNews = decidedAt === null || event.at > decidedAt;
    // In one second with a merge, which closed the issue, the merge came last.
    if (isEnded(item)) return issue.open || isNews ? [{ kind: "reopen", by: actor.login }] : [];
    // A merge before it, of which the news is late, must not end the item afterwards.
    return item.state === null && isNews ? [{ kind: "still_open", at: event.at }] : [];
  }
  if (isGone(event)) {
    return isEnded(item) ? [] : [{ kind: "cancel", by: actor.login }];
  }
  if (event.action !== "closed" || !actor.human || closedByWrongMerge) return [];
  const reason = issue.open ? facts.closedFor : issue.stateReason;
  const completed = reason === "completed" || reason === null;
  // A closed issue may be closed again, for another reason.
  if (late || item.state === (completed ? "complete" : "cancelled")) return [];
  return [{ kind: completed ? "complete" : "cancel", by: actor.login }];
}
