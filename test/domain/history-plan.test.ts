/** What a read of an issue's history may change of an item that is known from events. */

import { describe, expect, it } from "vitest";
import type { LabelEvent } from "../../src/domain/admission-history.ts";
import {
  type HistoryPlanFacts,
  leavesQuestion,
  planFromHistory,
  type StateAct,
} from "../../src/domain/history-plan.ts";
import type { KnownIssue, KnownItem } from "../../src/domain/issue-transitions.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/settings.ts";

const at = (second: number): Date => new Date(Date.UTC(2026, 8, 6, 0, 0, second));
const act = (action: "labeled" | "unlabeled", second: number, human = true): LabelEvent => ({
  action,
  login: human ? "alice" : "robo[bot]",
  human,
  at: at(second),
});
const NONE = { gate: false, stale: false, state: false };
const stateAct = (action: "closed" | "reopened", second: number, more: Partial<StateAct> = {}): StateAct => ({
  action,
  login: "alice",
  at: at(second),
  byWrongMerge: false,
  converted: false,
  reason: null,
  overruled: false,
  ...more,
});
const closedAs = (stateReason: string | null) => ({
  issue: { open: false, stateReason, labels: ["backlog"] },
});
const ITEM: KnownItem = {
  enrolled: true,
  admitted: true,
  admissionAt: at(10),
  state: null,
  stateEventAt: at(10),
  openSince: null,
  priorities: ["P2"],
  fallbackPriority: "P2",
  isLeftAlone: false,
  parkAsked: false,
};
const facts = (more: Partial<HistoryPlanFacts>, item: Partial<KnownItem> = {}): HistoryPlanFacts => ({
  issue: { open: true, stateReason: null, labels: ["backlog"] },
  item: { ...ITEM, ...item },
  settings: DEFAULT_SETTINGS,
  admission: { admitted: true, by: "alice", restore: false },
  gate: null,
  stale: null,
  staleByHuman: more.stale?.human ? more.stale : null,
  wasOpen: false,
  ended: null,
  bodyChanged: false,
  pending: NONE,
  ...more,
});
const labels = (...more: string[]) => ({
  issue: { open: true, stateReason: null, labels: ["backlog", ...more] },
});
const kinds = (plan: ReturnType<typeof planFromHistory>) => plan.map(({ kind }) => kind);

describe("planFromHistory", () => {
  it.each<[string, HistoryPlanFacts, string[]]>([
    ["nothing new changes nothing", facts({}), []],
    ["an issue that is no item is enrolled", facts({ item: null }), ["enrol"]],
    [
      "and gated if its history does not admit it",
      facts({ item: null, admission: { admitted: false, by: null, restore: true } }),
      ["enrol", "add_label"],
    ],
    [
      "and parked if a human had labelled it",
      facts({ item: null, stale: act("labeled", 5), ...labels("stale") }),
      ["enrol", "park"],
    ],
    [
      "a human's author alone admits nothing that was withdrawn",
      facts({}, { admitted: false }),
      ["add_label"],
    ],
    ["a human's newer removal admits", facts({ gate: act("unlabeled", 20) }, { admitted: false }), ["admit"]],
    ["an older removal does not", facts({ gate: act("unlabeled", 5) }, { admitted: false }), ["add_label"]],
    [
      "an agent's removal does not, and is recorded",
      facts({ gate: act("unlabeled", 20, false) }, { admitted: false }),
      ["add_label", "agent_removed_label"],
    ],
    [
      "nor does a removal before our own write of the label",
      facts({ gate: act("unlabeled", 20), pending: { ...NONE, gate: true } }, { admitted: false }),
      ["add_label"],
    ],
    ["the label on the issue withdraws", facts(labels("Needs-Specification")), ["withdraw"]],
    ["a human's newer stale parks", facts({ stale: act("labeled", 20), ...labels("stale") }), ["park"]],
    ["a bot's does not", facts({ stale: act("labeled", 20, false), ...labels("stale") }), []],
    [
      "nor does a complete item park",
      facts({ stale: act("labeled", 20), ...labels("stale") }, { state: "complete" }),
      [],
    ],
    [
      "a human's newer removal unparks",
      facts({ stale: act("unlabeled", 20) }, { state: "parked" }),
      ["unpark"],
    ],
    [
      "the removal of an earlier park does not",
      facts({ stale: act("unlabeled", 10) }, { state: "parked" }),
      [],
    ],
    [
      "nor does any while our own write of the label is unconfirmed",
      facts({ stale: act("unlabeled", 20), pending: { ...NONE, stale: true } }, { state: "parked" }),
      [],
    ],
    [
      "an agent's removal is put back",
      facts({ stale: act("unlabeled", 20, false) }, { state: "parked" }),
      ["add_label", "agent_removed_label"],
    ],
    [
      "a human's label on what is worked on waits for its end",
      facts({ stale: act("labeled", 20), ...labels("stale") }, { isLeftAlone: true }),
      ["ask_park"],
    ],
    [
      "and is not asked for twice",
      facts({ stale: act("labeled", 20), ...labels("stale") }, { isLeftAlone: true, parkAsked: true }),
      [],
    ],
    [
      "until a human takes it off",
      facts({ stale: act("unlabeled", 20) }, { isLeftAlone: true, parkAsked: true }),
      ["ask_park"],
    ],
    [
      "an agent may not",
      facts({ stale: act("unlabeled", 20, false) }, { isLeftAlone: true, parkAsked: true }),
      ["add_label"],
    ],
    [
      "a missed reopening brings back",
      facts({ ended: stateAct("reopened", 20) }, { state: "complete" }),
      ["reopen"],
    ],
    [
      "also within the second of the close that is known: the list is in order",
      facts({ ended: stateAct("reopened", 10) }, { state: "complete" }),
      ["reopen"],
    ],
    ["an older one does not", facts({ ended: stateAct("reopened", 5) }, { state: "complete" }), []],
    [
      "nor one that was noted already",
      facts({ ended: stateAct("reopened", 20) }, { state: "complete", openSince: at(25) }),
      [],
    ],
    [
      "an agent's close since takes it back from nobody",
      facts(
        { ...closedAs("completed"), ended: stateAct("reopened", 20, { overruled: true }) },
        { state: "complete" },
      ),
      ["reopen"],
    ],
    [
      "unless it came within the second of what ended the item: that may be the merge which closed it",
      facts(
        { ...closedAs("completed"), ended: stateAct("reopened", 10, { overruled: true }) },
        { state: "complete" },
      ),
      [],
    ],
    ["nobody's brings nothing back", facts({}, { state: "complete" }), []],
    [
      "nor does any while a close of ours is on its way",
      facts({ ended: stateAct("reopened", 20), pending: { ...NONE, state: true } }, { state: "complete" }),
      [],
    ],
    [
      "a live item that was reopened is not ended by what came before",
      facts({ ended: stateAct("reopened", 20) }),
      ["still_open"],
    ],
    [
      "which is noted once",
      facts({ ended: stateAct("reopened", 20) }, { stateEventAt: null, openSince: at(20) }),
      [],
    ],
    [
      "and by what decided its state since it is overtaken",
      facts({ ended: stateAct("reopened", 20) }, { stateEventAt: at(20) }),
      [],
    ],
    [
      "a park before the reopening stands, though it is heard of later",
      facts(
        { ended: stateAct("reopened", 20), stale: act("labeled", 15), ...labels("stale") },
        { openSince: at(20) },
      ),
      ["park"],
    ],
    [
      "a park of which nothing was heard stands, though an agent took the label off",
      facts({ stale: act("unlabeled", 20, false), staleByHuman: act("labeled", 15) }),
      ["park"],
    ],
    [
      "though an agent put it on again, too",
      facts({
        stale: act("labeled", 20, false),
        staleByHuman: act("labeled", 15),
        ...labels("stale"),
      }),
      ["park"],
    ],
    [
      "but not on an issue that was no item then and does not show it",
      facts({ item: null, stale: act("unlabeled", 20, false), staleByHuman: act("labeled", 15) }),
      ["enrol"],
    ],
    [
      "a human's close counts though an agent reopened the issue since",
      facts({ ended: stateAct("closed", 20, { overruled: true, reason: "completed" }) }),
      ["complete"],
    ],
    [
      "or closed it since for another reason",
      facts({
        ...closedAs("not_planned"),
        ended: stateAct("closed", 20, { overruled: true, reason: "completed" }),
      }),
      ["complete"],
    ],
    [
      "but not one that a human took back who lost their rights since",
      facts(
        { ended: stateAct("closed", 20, { overruled: true }) },
        { stateEventAt: null, openSince: at(21) },
      ),
      [],
    ],
    [
      "nor within the same second",
      facts({ ended: stateAct("closed", 20, { overruled: true }) }, { openSince: at(20) }),
      [],
    ],
    [
      "nor one that was read before the reopening was",
      facts({ ...closedAs("completed"), ended: stateAct("closed", 20) }, { openSince: at(21) }),
      [],
    ],
    [
      "while one that came last within its second ends the item",
      facts({ ...closedAs("completed"), ended: stateAct("closed", 20) }, { openSince: at(20) }),
      ["complete"],
    ],
    [
      "of two closes in one second the list's last decides, though the other was heard of",
      facts(
        { ended: stateAct("closed", 20, { overruled: true, reason: "not_planned" }) },
        { state: "complete", stateEventAt: at(20) },
      ),
      ["cancel"],
    ],
    [
      "but none that is older than the decision",
      facts(
        { ended: stateAct("closed", 20, { overruled: true, reason: "not_planned" }) },
        { state: "complete", stateEventAt: at(21) },
      ),
      [],
    ],
    [
      "for the reason that it had then",
      facts({ ended: stateAct("closed", 20, { overruled: true, reason: "not_planned" }) }),
      ["cancel"],
    ],
    ["an issue still open while its close is on its way does not", facts({}, { state: "complete" }), []],
    [
      "row 6: a human's close completes",
      facts({ ...closedAs("completed"), ended: stateAct("closed", 20) }),
      ["complete"],
    ],
    [
      "one as not planned cancels",
      facts({ ...closedAs("not_planned"), ended: stateAct("closed", 20) }),
      ["cancel"],
    ],
    ["an agent's close does neither", facts({ ...closedAs("completed") }), []],
    [
      "nor does a merge elsewhere",
      facts({ ...closedAs("completed"), ended: stateAct("closed", 20, { byWrongMerge: true }) }),
      [],
    ],
    [
      "nor a close that a reopening of ours is about to take back",
      facts({ ...closedAs("completed"), ended: stateAct("closed", 20), pending: { ...NONE, state: true } }),
      [],
    ],
    [
      "a close ends a parked item, too, though the park was heard of later",
      facts({ ...closedAs("completed"), ended: stateAct("closed", 5) }, { state: "parked" }),
      ["complete"],
    ],
    [
      "closed once more for another reason",
      facts({ ...closedAs("not_planned"), ended: stateAct("closed", 20) }, { state: "complete" }),
      ["cancel"],
    ],
    [
      "row 30: what became a discussion is cancelled, whoever did it",
      facts({ ...closedAs(null), ended: stateAct("closed", 20, { converted: true }) }),
      ["cancel"],
    ],
    [
      "a label that was added and taken off by an agent, both unheard of, withdraws",
      facts({ gate: act("unlabeled", 20, false) }),
      ["withdraw", "add_label", "agent_removed_label"],
    ],
    ["and by a human does not", facts({ gate: act("unlabeled", 20) }), []],
    ["a body edited by nobody knows whom withdraws", facts({ bodyChanged: true }), ["withdraw", "add_label"]],
    [
      "an issue that was opened and closed meanwhile becomes an item",
      facts({ ...closedAs("completed"), item: null, wasOpen: true }),
      ["enrol"],
    ],
    ["one that was closed before does not", facts({ ...closedAs("completed"), item: null }), []],
    [
      "a label that is gone takes the item off the backlog",
      facts({ issue: { open: true, stateReason: null, labels: [] } }),
      ["enrolled"],
    ],
    ["a priority label counts", facts(labels("P0")), ["priorities"]],
    ["without one the epic's does", facts({}, { fallbackPriority: "P1" }), ["priorities"]],
  ])("%s", (_, given, expected) => {
    expect(kinds(planFromHistory(given))).toEqual(expected);
  });
});

describe("leavesQuestion", () => {
  const asks = (issue: Partial<KnownIssue>, item: Partial<KnownItem> | null): boolean =>
    leavesQuestion(
      { open: true, stateReason: null, labels: ["backlog"], ...issue },
      item && { ...ITEM, ...item },
      DEFAULT_SETTINGS,
    );
  it.each<[string, boolean, Partial<KnownIssue>, Partial<KnownItem> | null]>([
    ["a live item and its open issue", false, {}, {}],
    ["an issue that should be an item", true, {}, null],
    ["an issue that is none", false, { labels: [] }, null],
    ["a closed issue that is none", false, { open: false }, null],
    ["a closed issue of a live item", true, { open: false }, {}],
    ["a closed issue of a complete one", false, { open: false }, { state: "complete" }],
    ["an open issue of a complete one", true, {}, { state: "complete" }],
    ["an item that is not admitted and does not show it", true, {}, { admitted: false }],
    ["one that shows it", false, { labels: ["backlog", "needs-specification"] }, { admitted: false }],
    ["one that shows it and is admitted", true, { labels: ["backlog", "needs-specification"] }, {}],
    ["a parked one without its label", true, {}, { state: "parked" }],
    ["a parked one", false, { labels: ["backlog", "stale"] }, { state: "parked" }],
    ["a label that nobody parked by", true, { labels: ["backlog", "stale"] }, {}],
    ["another priority", true, { labels: ["backlog", "P0"] }, {}],
    ["a label that enrols no more", true, { labels: [] }, {}],
  ])("%s: %s", (_, expected, issue, item) => {
    expect(asks(issue, item)).toBe(expected);
  });
});
