/** What a read of an issue's history may change of an item that is known from events. */

import { describe, expect, it } from "vitest";
import type { LabelEvent } from "../../src/domain/admission-history.ts";
import { type HistoryPlanFacts, planFromHistory } from "../../src/domain/history-plan.ts";
import type { KnownItem } from "../../src/domain/issue-transitions.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/settings.ts";

const at = (second: number): Date => new Date(Date.UTC(2026, 8, 6, 0, 0, second));
const act = (action: "labeled" | "unlabeled", second: number, human = true): LabelEvent => ({
  action,
  login: human ? "alice" : "robo[bot]",
  human,
  at: at(second),
});
const ITEM: KnownItem = {
  enrolled: true,
  admitted: true,
  admissionAt: at(10),
  state: null,
  stateEventAt: at(10),
  priorities: ["P2"],
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
  pending: { gate: false, stale: false },
  reopenedBy: null,
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
      "an agent's removal does not",
      facts({ gate: act("unlabeled", 20, false) }, { admitted: false }),
      ["add_label"],
    ],
    [
      "nor does a removal before our own write of the label",
      facts({ gate: act("unlabeled", 20), pending: { gate: true, stale: false } }, { admitted: false }),
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
      facts({ stale: act("unlabeled", 20), pending: { gate: false, stale: true } }, { state: "parked" }),
      [],
    ],
    [
      "an agent's removal is put back",
      facts({ stale: act("unlabeled", 20, false) }, { state: "parked" }),
      ["add_label"],
    ],
    ["a missed reopening brings back", facts({ reopenedBy: "alice" }, { state: "complete" }), ["reopen"]],
    ["an issue still open while its close is on its way does not", facts({}, { state: "complete" }), []],
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
    ["a priority label counts", facts(labels("P0")), ["priorities"]],
  ])("%s", (_, given, expected) => {
    expect(kinds(planFromHistory(given))).toEqual(expected);
  });
});
