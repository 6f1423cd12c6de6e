/** The sentences of the report: what a maintainer would want to be told first. Facts in, text out. */

import type { ReadyReason, Verdict } from "./ready-set.ts";

export interface ReportFacts {
  readonly verdict: Verdict;
  readonly pending: number;
  readonly ready: readonly { readonly number: number }[];
  readonly overlapping: readonly { readonly number: number; readonly with: readonly number[] }[];
  readonly waiting: readonly { readonly number: number; readonly reasons: readonly ReadyReason[] }[];
  readonly inFlight: readonly { readonly number: number; readonly isHeld: boolean }[];
  readonly awaitingAdmission: readonly number[];
  readonly parked: readonly { readonly number: number; readonly question: string | null }[];
  readonly defects: readonly { readonly number: number; readonly code: string }[];
}

const SHOWN = 3;

/** `#1, #2, #3 and 4 more` */
export function namesOf(numbers: readonly number[]): string {
  const shown = numbers.slice(0, SHOWN).map((number) => `#${number}`);
  const more = numbers.length - shown.length;
  if (more > 0) return `${shown.join(", ")} and ${more} more`;
  const last = shown.pop();
  return shown.length === 0 ? (last ?? "") : `${shown.join(", ")} and ${last}`;
}

const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;
const numbersOf = (items: readonly { readonly number: number }[]): number[] =>
  items.map(({ number }) => number);

/** The answer in sentences, the most pressing first. */
export function reportSentences(facts: ReportFacts): string[] {
  return [
    headline(facts),
    ...parkedSentence(facts),
    ...admissionSentence(facts),
    ...flightSentences(facts),
    ...bottleneckSentence(facts),
    ...overlapSentence(facts),
    ...defectSentence(facts),
  ];
}

function headline({ verdict, pending, ready, overlapping, waiting, inFlight }: ReportFacts): string {
  switch (verdict) {
    case "ready":
      return `${count(ready.length, "item is", "items are")} ready to be claimed, of ${pending} pending; ${namesOf(numbersOf(ready))} ${ready.length === 1 ? "is" : "come"} next.`;
    case "idle":
      return "Nothing is pending: the backlog is empty.";
    case "overlapping":
      return overlapping.length === 0
        ? "Nothing can be claimed: what nothing else stops needs a resource that another item holds; that will free it."
        : "Nothing can be claimed without touching the files of what is being worked on; that will free it.";
    case "waiting":
      return `Nothing is ready. ${count(pending, "item is", "items are")} pending, and all of them move: ${count(inFlight.length, "is", "are")} in flight, the others wait for those or for a human.`;
    case "alarm":
      return `Nothing is ready, and ${count(waiting.length, "item starves", "items starve")}: nothing that happens by itself will free ${namesOf(numbersOf(waiting))}.`;
  }
}

function parkedSentence({ parked }: ReportFacts): string[] {
  if (parked.length === 0) return [];
  const asked = parked.filter(({ question }) => question !== null);
  const ruling =
    asked.length > 0
      ? `; ${count(asked.length, "has a question", "have questions")} to be ruled on (${namesOf(numbersOf(asked))})`
      : "";
  return [
    `${count(parked.length, "item is parked and needs", "items are parked and need")} a human: ${namesOf(numbersOf(parked))}${ruling}.`,
  ];
}

function admissionSentence({ awaitingAdmission }: ReportFacts): string[] {
  if (awaitingAdmission.length === 0) return [];
  return [
    `${count(awaitingAdmission.length, "item waits", "items wait")} for a human's admission: ${namesOf(awaitingAdmission)}.`,
  ];
}

function flightSentences({ inFlight }: ReportFacts): string[] {
  const held = inFlight.filter(({ isHeld }) => isHeld);
  const active = inFlight.filter(({ isHeld }) => !isHeld);
  return [
    ...(held.length > 0
      ? [`${count(held.length, "item is", "items are")} being worked on: ${namesOf(numbersOf(held))}.`]
      : []),
    ...(active.length > 0
      ? [`${namesOf(numbersOf(active))} lapsed, but the work still moves: kept from others for a while.`]
      : []),
  ];
}

/** The item that holds up most of the others, if one does. */
function bottleneckSentence({ waiting }: ReportFacts): string[] {
  const dependents = new Map<number, number>();
  for (const { reasons } of waiting) {
    for (const reason of reasons) {
      if (!("on" in reason)) continue;
      for (const blocker of reason.on ?? []) dependents.set(blocker, (dependents.get(blocker) ?? 0) + 1);
    }
  }
  const [worst] = [...dependents].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  if (!worst || worst[1] < 2) return [];
  return [`#${worst[0]} holds up ${worst[1]} items: it frees most when it is done.`];
}

function overlapSentence({ overlapping, verdict }: ReportFacts): string[] {
  if (overlapping.length === 0 || verdict === "overlapping") return [];
  return [
    `${count(overlapping.length, "item would touch", "items would touch")} the files of what is in flight: ${namesOf(numbersOf(overlapping))}.`,
  ];
}

function defectSentence({ defects }: ReportFacts): string[] {
  if (defects.length === 0) return [];
  const codes = [...new Set(defects.map(({ code }) => code))];
  const items = [...new Set(numbersOf(defects))];
  return [
    `${count(defects.length, "defect needs", "defects need")} mending (${codes.slice(0, SHOWN).join(", ")}${codes.length > SHOWN ? ", …" : ""}), on ${namesOf(items)}.`,
  ];
}
