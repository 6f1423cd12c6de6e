/**
 * What an issue's labels, state and event list, as they are read now, say of its item: for issues that were there
 * before Leasehold, or whose events were missed. What is known from events stands unless the list shows a newer act:
 * a label that is merely absent proves nothing, for our own write of it may still be on its way.
 */

import type { HistoricAdmission, LabelEvent } from "./admission-history.ts";
import type { KnownIssue, KnownItem, Transition } from "./issue-transitions.ts";
import { endDecidedAt, isWanted } from "./issue-transitions.ts";
import type { RepositorySettings } from "./settings.ts";
import { hasLabel, prioritiesOfLabels } from "./tags.ts";

/** The last time that a human closed or reopened the issue, or that it became a discussion. */
export interface StateAct {
  readonly action: "closed" | "reopened";
  /** Why it was closed. */
  readonly reason: string | null;
  /** An agent closed or reopened the issue after it, which ends nothing and brings nothing back (protocol 8). */
  readonly overruled: boolean;
  readonly login: string | null;
  /** GitHub's time. */
  readonly at: Date;
  /** GitHub closed it because of a merge that does not complete the item. */
  readonly byWrongMerge: boolean;
  /** It is a discussion now (github-cases 30): over, and never complete. */
  readonly converted: boolean;
}

export interface HistoryPlanFacts {
  readonly issue: KnownIssue;
  readonly item: KnownItem | null;
  readonly settings: RepositorySettings;
  /** Admission as the whole history tells it: counts for issues that become items now. */
  readonly admission: HistoricAdmission;
  /** It may become an item though it is closed: it was open once since the App came. */
  readonly wasOpen: boolean;
  /** The last act on the gate label, and on the stale label. */
  readonly gate: LabelEvent | null;
  readonly stale: LabelEvent | null;
  /**
   * The last act of a human on the stale label that counts (`isStillAsked`): an agent's removal takes no park back.
   */
  readonly staleByHuman: LabelEvent | null;
  readonly ended: StateAct | null;
  /** The body is another, and nobody told who edited it. */
  readonly bodyChanged: boolean;
  /** Our own writes that are not confirmed yet: of the labels, and of the issue's state. */
  readonly pending: { readonly gate: boolean; readonly stale: boolean; readonly state: boolean };
}

const GHOST = "ghost";

/** The plan for an issue. Doing it again changes nothing. */
export function planFromHistory(facts: HistoryPlanFacts): Transition[] {
  const { item, issue, settings } = facts;
  if (item === null)
    return isWanted(issue, settings) && (issue.open || facts.wasOpen) ? enrolPlan(facts) : [];
  const plan: Transition[] = [];
  const wanted = isWanted(issue, settings);
  if (item.enrolled !== wanted) plan.push({ kind: "enrolled", enrolled: wanted });
  const asked = prioritiesOfLabels(issue.labels);
  const priorities = asked.length > 0 ? asked : [item.fallbackPriority];
  if (priorities.join() !== [...item.priorities].sort().join())
    plan.push({ kind: "priorities", values: priorities });
  return [...plan, ...admissionPlan(item, facts), ...parkingPlan(item, facts), ...endingPlan(item, facts)];
}

/**
 * Whether the item and the issue, as both are known, leave a question that only the issue's event list answers. An issue
 * that did not change and leaves none need not be asked about.
 */
export function leavesQuestion(
  issue: KnownIssue,
  item: KnownItem | null,
  settings: RepositorySettings,
): boolean {
  const wanted = isWanted(issue, settings);
  if (item === null) return wanted && issue.open;
  const { gate, stale } = settings.labels;
  const asked = prioritiesOfLabels(issue.labels);
  const priorities = asked.length > 0 ? asked : [item.fallbackPriority];
  const isOver = item.state === "complete" || item.state === "cancelled";
  return (
    item.enrolled !== wanted ||
    priorities.join() !== [...item.priorities].sort().join() ||
    isOver === issue.open ||
    (!isOver && wanted && item.admitted === hasLabel(issue.labels, gate)) ||
    (!isOver && (item.state === "parked" || item.parkAsked) !== hasLabel(issue.labels, stale))
  );
}

function enrolPlan(facts: HistoryPlanFacts): Transition[] {
  const { settings, admission, staleByHuman } = facts;
  const plan: Transition[] = [{ kind: "enrol", admitted: admission.admitted, by: admission.by }];
  if (admission.restore) plan.push({ kind: "add_label", label: settings.labels.gate });
  // An issue that is no item keeps what people and agents do to its labels.
  return parksByHuman(facts, null) && hasLabel(facts.issue.labels, settings.labels.stale)
    ? [...plan, { kind: "park", by: staleByHuman?.login ?? GHOST }]
    : plan;
}

function admissionPlan(item: KnownItem, facts: HistoryPlanFacts): Transition[] {
  const { issue, settings, gate, pending } = facts;
  const label = settings.labels.gate;
  const shows = hasLabel(issue.labels, label);
  const isOver = item.state === "complete" || item.state === "cancelled";
  const restore: Transition[] =
    shows || isOver || !isWanted(issue, settings) ? [] : [{ kind: "add_label", label }];
  const record: Transition = { kind: "agent_removed_label", label, by: gate?.login ?? GHOST };
  const removed = gate?.action === "unlabeled" && !shows && !pending.gate ? gate : null;
  if (item.admitted) {
    if (shows) return [{ kind: "withdraw", why: "the label is on the issue" }];
    // Somebody had put it on, of which nothing was heard.
    if (removed && !removed.human && removed.at > item.admissionAt)
      return [{ kind: "withdraw", why: `${label} was added, and removed by an agent` }, ...restore, record];
    if (facts.bodyChanged)
      return [{ kind: "withdraw", why: "the body was edited, and nobody can tell by whom" }, ...restore];
    return [];
  }
  const isNew = removed !== null && removed.at >= item.admissionAt;
  if (isNew && removed.human) return [{ kind: "admit", by: removed.login ?? GHOST }];
  return isNew && restore.length > 0 ? [...restore, record] : restore;
}

function parkingPlan(item: KnownItem, facts: HistoryPlanFacts): Transition[] {
  const { issue, settings, stale, staleByHuman, pending, ended } = facts;
  if (item.state === null && !item.parkAsked && parksByHuman(facts, item)) {
    // What had ended is not parked.
    const isAfterEnd =
      !issue.open && ended?.action === "closed" && staleByHuman !== null && staleByHuman.at > ended.at;
    const kind = item.isLeftAlone ? "ask_park" : "park";
    return isAfterEnd ? [] : [{ kind, by: staleByHuman?.login ?? GHOST }];
  }
  if (
    item.state === null &&
    item.parkAsked &&
    !pending.stale &&
    !hasLabel(issue.labels, settings.labels.stale)
  ) {
    return stale?.action === "unlabeled" && stale.human
      ? [{ kind: "ask_park", by: null }]
      : [{ kind: "add_label", label: settings.labels.stale }];
  }
  if (item.state !== "parked" || hasLabel(issue.labels, settings.labels.stale) || pending.stale) return [];
  if (stale?.action !== "unlabeled" || !isNews(stale, item.stateEventAt)) return [];
  if (stale.human) return [{ kind: "unpark", by: stale.login ?? GHOST }];
  const label = settings.labels.stale;
  return [
    { kind: "add_label", label },
    { kind: "agent_removed_label", label, by: stale.login ?? GHOST },
  ];
}

function parksByHuman({ staleByHuman }: HistoryPlanFacts, item: KnownItem | null): boolean {
  return staleByHuman?.action === "labeled" && (item === null || isNews(staleByHuman, item.stateEventAt));
}

function endingPlan(item: KnownItem, { issue, ended, pending }: HistoryPlanFacts): Transition[] {
  if (ended === null) return [];
  const by = ended.login ?? GHOST;
  const isOver = item.state === "complete" || item.state === "cancelled";
  if (ended.converted) return isOver ? [] : [{ kind: "cancel", by, at: ended.at }];
  // Open or closed on GitHub is not enough: what Leasehold itself decided may still be on its way there.
  if (pending.state) return [];
  const decidedAt = endDecidedAt(item);
  if (ended.action === "reopened") {
    // In one second with a merge of an agent's, which closed the issue, the merge came last.
    const counts = issue.open ? !isEarlier(ended, decidedAt) : isNews(ended, decidedAt);
    if (isOver) return counts ? [{ kind: "reopen", by, at: ended.at }] : [];
    return item.state === null && isNews(ended, decidedAt) ? [{ kind: "still_open", at: ended.at }] : [];
  }
  if ((issue.open && !ended.overruled) || ended.byWrongMerge) return [];
  const reason = ended.overruled ? ended.reason : issue.stateReason;
  const state = reason === "completed" || reason === null ? "complete" : "cancelled";
  // Of two closes in one second the list knows which came last.
  if (item.state === state || (isOver && isEarlier(ended, decidedAt))) return [];
  // Whoever reopened it since may have lost their rights: what they did while they had them stands. In one second the list
  // has the order, unless what came last counts no more.
  const isBefore = ended.overruled ? !isNews(ended, item.openSince) : isEarlier(ended, item.openSince);
  if (isBefore) return [];
  return [{ kind: state === "complete" ? "complete" : "cancel", by, at: ended.at }];
}

const isNews = (act: { at: Date }, since: Date | null): boolean => since === null || act.at > since;
const isEarlier = (act: { at: Date }, than: Date | null): boolean => than !== null && act.at < than;
