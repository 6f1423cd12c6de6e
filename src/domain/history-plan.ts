/**
 * What an issue's labels and event list, as they are read now, say of its item: for issues that were there before
 * Leasehold, or whose events were missed. What is known from events stands unless the list shows a newer act:
 * a label that is merely absent proves nothing, for our own write of it may still be on its way.
 */

import type { HistoricAdmission, LabelEvent } from "./admission-history.ts";
import type { KnownIssue, KnownItem, Transition } from "./issue-transitions.ts";
import type { RepositorySettings } from "./settings.ts";
import { hasLabel, prioritiesOfLabels } from "./tags.ts";

export interface HistoryPlanFacts {
  readonly issue: KnownIssue;
  readonly item: KnownItem | null;
  readonly settings: RepositorySettings;
  /** Admission as the whole history tells it: counts for issues that become items now. */
  readonly admission: HistoricAdmission;
  /** The last act on the gate label, and on the stale label. */
  readonly gate: LabelEvent | null;
  readonly stale: LabelEvent | null;
  /** Our own writes of the labels that are not confirmed yet. */
  readonly pending: { readonly gate: boolean; readonly stale: boolean };
  /** The issue was closed when it was last seen, and a human reopened it since; null: no. */
  readonly reopenedBy: string | null;
}

const GHOST = "ghost";

/** The plan for an issue that carries the enrolment label. Doing it again changes nothing. */
export function planFromHistory(facts: HistoryPlanFacts): Transition[] {
  const { item, issue, settings, admission } = facts;
  if (item === null) {
    const plan: Transition[] = [{ kind: "enrol", admitted: admission.admitted, by: admission.by }];
    if (admission.restore) plan.push({ kind: "add_label", label: settings.labels.gate });
    return parksByHuman(facts, null) ? [...plan, { kind: "park", by: facts.stale?.login ?? GHOST }] : plan;
  }
  const plan: Transition[] = [];
  if (!item.enrolled) plan.push({ kind: "enrolled", enrolled: true });
  const asked = prioritiesOfLabels(issue.labels);
  const priorities = asked.length > 0 ? asked : [settings.defaults.priority];
  if (priorities.join() !== [...item.priorities].sort().join())
    plan.push({ kind: "priorities", values: priorities });
  const ended = item.state === "complete" || item.state === "cancelled";
  if (ended && facts.reopenedBy !== null) plan.push({ kind: "reopen", by: facts.reopenedBy });
  return [...plan, ...admissionPlan(item, facts), ...parkingPlan(item, facts)];
}

function admissionPlan(item: KnownItem, { issue, settings, gate, pending }: HistoryPlanFacts): Transition[] {
  const label = settings.labels.gate;
  const shows = hasLabel(issue.labels, label);
  if (item.admitted) return shows ? [{ kind: "withdraw", why: "the label is on the issue" }] : [];
  const removed = gate?.action === "unlabeled" && gate.human && gate.at >= item.admissionAt;
  if (!shows && removed && !pending.gate) return [{ kind: "admit", by: gate.login ?? GHOST }];
  return shows || item.state === "complete" || item.state === "cancelled"
    ? []
    : [{ kind: "add_label", label }];
}

function parkingPlan(item: KnownItem, facts: HistoryPlanFacts): Transition[] {
  const { issue, settings, stale, pending } = facts;
  if (item.state === null && !item.parkAsked && parksByHuman(facts, item))
    return [{ kind: item.isLeftAlone ? "ask_park" : "park", by: stale?.login ?? GHOST }];
  if (item.parkAsked && !pending.stale && !hasLabel(issue.labels, settings.labels.stale))
    return stale?.action === "unlabeled" && stale.human
      ? [{ kind: "ask_park", by: null }]
      : [{ kind: "add_label", label: settings.labels.stale }];
  if (item.state !== "parked" || hasLabel(issue.labels, settings.labels.stale) || pending.stale) return [];
  if (stale?.action !== "unlabeled" || !isNews(stale, item.stateEventAt)) return [];
  return stale.human
    ? [{ kind: "unpark", by: stale.login ?? GHOST }]
    : [{ kind: "add_label", label: settings.labels.stale }];
}

function parksByHuman({ issue, settings, stale }: HistoryPlanFacts, item: KnownItem | null): boolean {
  if (stale?.action !== "labeled" || !stale.human || !hasLabel(issue.labels, settings.labels.stale))
    return false;
  return item === null || isNews(stale, item.stateEventAt);
}

const isNews = (act: LabelEvent, since: Date | null): boolean => since === null || act.at > since;
