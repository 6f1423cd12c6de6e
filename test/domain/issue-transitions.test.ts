import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type IssueEvent,
  type IssueFacts,
  type KnownIssue,
  type KnownItem,
  readsNeeded,
  type Transition,
  transitionsOf,
} from "../../src/domain/issue-transitions.ts";
import { DEFAULT_SETTINGS, settingsOf } from "../../src/domain/settings.ts";
import { hasLabel } from "../../src/domain/tags.ts";
import { at, NOW } from "./facts.ts";

const GATE = "needs-specification";
const HUMAN = { login: "alice", human: true };
const AGENT = { login: "worker[bot]", human: false };

const event = (action: string, label: string | null = null, facts: Partial<IssueEvent> = {}): IssueEvent => ({
  action,
  label,
  bodyChanged: false,
  at: NOW,
  ...facts,
});
const labeled = (label: string, facts?: Partial<IssueEvent>) => event("labeled", label, facts);
const unlabeled = (label: string | null, facts?: Partial<IssueEvent>) => event("unlabeled", label, facts);
const EDITED = event("edited", null, { bodyChanged: true });

const issue = (labels: readonly string[] = [], facts: Partial<KnownIssue> = {}): KnownIssue => ({
  open: true,
  stateReason: null,
  labels: ["backlog", ...labels],
  ...facts,
});
const closed = (stateReason: string | null): KnownIssue => issue([], { open: false, stateReason });

const item = (facts: Partial<KnownItem> = {}): KnownItem => ({
  enrolled: true,
  admitted: true,
  admissionAt: at(-60),
  state: null,
  stateEventAt: null,
  openSince: null,
  priorities: ["P2"],
  fallbackPriority: "P2",
  isLeftAlone: false,
  parkAsked: false,
  ...facts,
});
const UNADMITTED = item({ admitted: false });
const PARKED = item({ state: "parked", stateEventAt: at(-60) });

/** A human's event on an admitted item, until a row says otherwise. */
const planOf = (facts: Partial<IssueFacts>): Transition[] =>
  transitionsOf({
    event: event("assigned"),
    issue: issue(),
    item: item(),
    settings: DEFAULT_SETTINGS,
    actor: HUMAN,
    author: HUMAN,
    staleBy: null,
    closedFor: null,
    closedByWrongMerge: false,
    gateIsExplained: false,
    ...facts,
  });

type Row = [string, Partial<IssueFacts>, Transition[]];
const ADD_GATE: Transition = { kind: "add_label", label: GATE };
const ADD_STALE: Transition = { kind: "add_label", label: "stale" };
const removedBy = (label: string, by: string): Transition => ({ kind: "agent_removed_label", label, by });

describe("enrolment (sections 2 and 3)", () => {
  const opened = event("opened");
  const admitted: Transition = { kind: "enrol", admitted: true, by: "alice" };
  const gated: Transition = { kind: "enrol", admitted: false, by: null };
  const NEW = { item: null, event: opened };

  it.each<Row>([
    ["a human's issue is admitted at creation", NEW, [admitted]],
    ["unless it carries the label", { ...NEW, issue: issue([GATE]) }, [gated]],
    ["row 17: in any spelling", { ...NEW, issue: issue(["Needs-Specification"]) }, [gated]],
    ["an agent's opens with the label", { ...NEW, author: AGENT }, [gated, ADD_GATE]],
    ["which is not put on twice", { ...NEW, author: AGENT, issue: issue([GATE]) }, [gated]],
    [
      "row 13: a ghost's opens with the label",
      { ...NEW, author: { login: null, human: false } },
      [gated, ADD_GATE],
    ],
    [
      "its text is an agent's by now, of whose edit the news came first",
      { ...NEW, event: EDITED, actor: AGENT },
      [gated, ADD_GATE],
    ],
    ["or a human's", { ...NEW, event: EDITED, actor: HUMAN }, [admitted]],
    [
      "who labels it changes nothing of who wrote it",
      { ...NEW, event: labeled("backlog"), author: AGENT },
      [gated, ADD_GATE],
    ],
    [
      "row 17: the enrolment label in any spelling",
      { ...NEW, issue: issue([], { labels: ["BackLog"] }) },
      [admitted],
    ],
    ["without it, an issue is no item", { ...NEW, issue: issue([], { labels: ["bug"] }) }, []],
    [
      "enroll: all takes every issue",
      { ...NEW, issue: issue([], { labels: [] }), settings: settingsOf({ enrollAll: true }) },
      [admitted],
    ],
    ["a closed issue is not enrolled", { ...NEW, issue: closed("completed") }, []],
    ["an issue that was deleted is not enrolled", { ...NEW, event: event("deleted") }, []],
    ["an issue that was transferred is not enrolled", { ...NEW, event: event("transferred") }, []],
    [
      "the label is taken away: no longer offered",
      { event: unlabeled("backlog"), issue: issue([], { labels: [] }) },
      [{ kind: "enrolled", enrolled: false }],
    ],
    [
      "and put on again",
      { event: labeled("backlog"), item: item({ enrolled: false }) },
      [{ kind: "enrolled", enrolled: true }],
    ],
    ["row 27: assignments change nothing", { event: event("unassigned") }, []],
    [
      "row 27: milestones change nothing",
      { event: event("demilestoned"), item: UNADMITTED, issue: issue([GATE]) },
      [],
    ],
    ["row 12: an action that nobody knew changes nothing", { event: event("field_added") }, []],
  ])("%s", (_, facts, plan) => expect(planOf(facts)).toEqual(plan));
});

describe("priority belongs to GitHub (section 2)", () => {
  it.each<Row>([
    ["a label sets it", { issue: issue(["P0"]) }, [{ kind: "priorities", values: ["P0"] }]],
    ["in another spelling", { issue: issue(["priority/p1"]) }, [{ kind: "priorities", values: ["P1"] }]],
    ["it is set already", { issue: issue(["P0"]), item: item({ priorities: ["P0"] }) }, []],
    [
      "the label goes: the default",
      { item: item({ priorities: ["P0"] }) },
      [{ kind: "priorities", values: ["P2"] }],
    ],
    [
      "without a label it is the epic's, or the default",
      { item: item({ fallbackPriority: "P3" }) },
      [{ kind: "priorities", values: ["P3"] }],
    ],
    [
      "two different ones are both kept, as the doubled-tag defect",
      { issue: issue(["P3", "priority:P1"]) },
      [{ kind: "priorities", values: ["P1", "P3"] }],
    ],
    ["and stay so", { issue: issue(["P3", "P1"]), item: item({ priorities: ["P3", "P1"] }) }, []],
    [
      "what somebody wrote by hand gives way",
      { item: item({ priorities: ["P9"] }) },
      [{ kind: "priorities", values: ["P2"] }],
    ],
  ])("%s", (_, facts, plan) => expect(planOf(facts)).toEqual(plan));
});

describe("admission (section 3)", () => {
  const shown = issue([GATE]);

  it.each<Row>([
    [
      "a human removes the label",
      { item: UNADMITTED, event: unlabeled(GATE) },
      [{ kind: "admit", by: "alice" }],
    ],
    [
      "row 17: spelled otherwise",
      { item: UNADMITTED, event: unlabeled("NEEDS-specification") },
      [{ kind: "admit", by: "alice" }],
    ],
    [
      "row 20: an agent removes it: it is put back, and the attempt recorded",
      { item: UNADMITTED, event: unlabeled(GATE), actor: AGENT },
      [ADD_GATE, removedBy(GATE, "worker[bot]")],
    ],
    [
      "row 20: put back once: it is there again already",
      { item: UNADMITTED, event: unlabeled(GATE), actor: AGENT, issue: shown },
      [removedBy(GATE, "worker[bot]")],
    ],
    [
      "a human removes it, but it was added again since",
      { item: UNADMITTED, event: unlabeled(GATE), issue: shown },
      [],
    ],
    ["a human removes another label", { item: UNADMITTED, event: unlabeled("bug"), issue: shown }, []],
    [
      "row 19: a deleted label names none: a human's deletion admits nothing",
      { item: UNADMITTED, event: unlabeled(null) },
      [ADD_GATE],
    ],
    [
      "the label is missing, whatever the event: it is shown again",
      { item: UNADMITTED, event: event("pinned") },
      [ADD_GATE],
    ],
    ["writing the specification does not admit", { item: UNADMITTED, event: EDITED, issue: shown }, []],
    [
      "nor does a human's comment, assignment or close",
      { item: UNADMITTED, event: event("assigned"), issue: shown },
      [],
    ],
    [
      "a human adds the label",
      { event: labeled(GATE), issue: shown },
      [{ kind: "withdraw", why: expect.stringContaining("@alice") }],
    ],
    [
      "an agent adds it",
      { event: labeled(GATE), issue: shown, actor: AGENT },
      [{ kind: "withdraw", why: expect.stringContaining("@worker[bot]") }],
    ],
    ["it is added where it was", { item: UNADMITTED, event: labeled(GATE), issue: shown }, []],
    [
      "somebody without triage rights edits the body",
      { event: EDITED, actor: { login: "mallory", human: false } },
      [{ kind: "withdraw", why: expect.stringContaining("@mallory") }, ADD_GATE],
    ],
    ["a human with triage rights edits the body", { event: EDITED }, []],
    ["somebody edits the title", { event: event("edited"), actor: { login: "mallory", human: false } }, []],
    [
      "somebody edits the body of an item that is not admitted",
      { item: UNADMITTED, event: EDITED, issue: shown, actor: AGENT },
      [],
    ],
    [
      "an item that is complete needs no label while its issue is being closed",
      { item: item({ admitted: false, state: "complete" }), event: event("pinned") },
      [],
    ],
    [
      "an unadmitted item is reopened: it shows the label",
      { item: item({ admitted: false, state: "complete" }), event: event("reopened") },
      [ADD_GATE, { kind: "reopen", by: "alice" }],
    ],
  ])("%s", (_, facts, plan) => expect(planOf(facts)).toEqual(plan));

  it.each<Row>([
    [
      "an agent's old removal",
      { item: item({ admissionAt: at(60) }), event: unlabeled(GATE), actor: AGENT },
      [],
    ],
    ["an old addition", { item: item({ admissionAt: at(60) }), event: labeled(GATE) }, []],
    ["an old edit", { item: item({ admissionAt: at(60) }), event: EDITED, actor: AGENT }, []],
    [
      "a human's old removal, before the admission was withdrawn",
      { item: item({ admitted: false, admissionAt: at(60) }), event: unlabeled(GATE) },
      [],
    ],
  ])("what arrives late changes nothing: %s", (_, facts, plan) => expect(planOf(facts)).toEqual(plan));

  it.each<Row>([
    [
      "a human removes the label as soon as the item is there",
      { item: item({ admitted: false, admissionAt: NOW }), event: unlabeled(GATE) },
      [{ kind: "admit", by: "alice" }],
    ],
    [
      "somebody adds it as soon as the item was admitted",
      { item: item({ admissionAt: NOW }), event: labeled(GATE), issue: shown },
      [{ kind: "withdraw", why: expect.stringContaining("@alice") }],
    ],
    [
      "a human unparks as soon as the item was parked",
      { item: item({ state: "parked", stateEventAt: NOW }), event: unlabeled("stale") },
      [{ kind: "unpark", by: "alice" }],
    ],
    [
      "a human reopens as soon as the item was completed",
      { item: item({ state: "complete", stateEventAt: NOW }), event: event("reopened") },
      [{ kind: "reopen", by: "alice" }],
    ],
  ])("GitHub's times are whole seconds, so the same second is not late: %s", (_, facts, plan) =>
    expect(planOf(facts)).toEqual(plan),
  );

  it("row 33: a reopened item keeps its admission, and its lack of it", () => {
    for (const admitted of [true, false]) {
      const plan = planOf({
        item: item({ admitted, state: "cancelled" }),
        event: event("reopened"),
        issue: shown,
      });
      expect(plan).toEqual([{ kind: "reopen", by: "alice" }]);
    }
  });
});

describe("parking by label (section 5)", () => {
  const stale = issue(["stale"]);

  it.each<Row>([
    ["a human adds the label", { event: labeled("stale"), issue: stale }, [{ kind: "park", by: "alice" }]],
    ["row 17: spelled otherwise", { event: labeled("STALE"), issue: stale }, [{ kind: "park", by: "alice" }]],
    [
      "row 26: a bot adds it: other tools use the name",
      { event: labeled("stale"), issue: stale, actor: AGENT },
      [],
    ],
    [
      "what is held, quarantined or in review runs to its end first",
      { item: item({ isLeftAlone: true }), event: labeled("stale"), issue: stale },
      [{ kind: "ask_park", by: "alice" }],
    ],
    [
      "which is asked for once",
      { item: item({ isLeftAlone: true, parkAsked: true }), event: labeled("stale"), issue: stale },
      [],
    ],
    [
      "and no longer, when a human removes it meanwhile",
      { item: item({ isLeftAlone: true, parkAsked: true }), event: unlabeled("stale") },
      [{ kind: "ask_park", by: null }],
    ],
    [
      "an agent's removal is put back then, too",
      { item: item({ isLeftAlone: true, parkAsked: true }), event: unlabeled("stale"), actor: AGENT },
      [ADD_STALE, removedBy("stale", "worker[bot]")],
    ],
    [
      "an issue's first event is a human's label: an item, and parked",
      { item: null, event: labeled("stale"), issue: stale },
      [
        { kind: "enrol", admitted: true, by: "alice" },
        { kind: "park", by: "alice" },
      ],
    ],
    [
      "a bot's is a label like any other",
      { item: null, event: labeled("stale"), issue: stale, actor: AGENT },
      [{ kind: "enrol", admitted: true, by: "alice" }],
    ],
    [
      "a human had put it on before the issue was enrolled",
      { item: null, event: labeled("backlog"), issue: stale, actor: AGENT, staleBy: "tess" },
      [
        { kind: "enrol", admitted: true, by: "alice" },
        { kind: "park", by: "tess" },
      ],
    ],
    [
      "a label of before a reopening, of which the news is late",
      { item: item({ openSince: at(60) }), event: labeled("stale"), issue: stale },
      [{ kind: "park", by: "alice" }],
    ],
    ["parking twice changes nothing", { item: PARKED, event: labeled("stale"), issue: stale }, []],
    [
      "a complete item is not parked",
      { item: item({ state: "complete" }), event: labeled("stale"), issue: stale },
      [],
    ],
    ["a human removes it", { item: PARKED, event: unlabeled("stale") }, [{ kind: "unpark", by: "alice" }]],
    [
      "row 26: an agent removes it: it is put back",
      { item: PARKED, event: unlabeled("stale"), actor: AGENT },
      [ADD_STALE, removedBy("stale", "worker[bot]")],
    ],
    [
      "an agent removed it, and it is there again already",
      { item: PARKED, event: unlabeled("stale"), actor: AGENT, issue: stale },
      [removedBy("stale", "worker[bot]")],
    ],
    [
      "a human removes it, but it was added again since",
      { item: PARKED, event: unlabeled("stale"), issue: stale },
      [],
    ],
    ["a human removes a bot's label from a live item", { event: unlabeled("stale") }, []],
    ["a bot removes its own from a live item", { event: unlabeled("stale"), actor: AGENT }, []],
    ["row 19: a deleted label unparks nothing", { item: PARKED, event: unlabeled(null) }, [ADD_STALE]],
    ["row 26: activity unparks nothing", { item: PARKED, event: EDITED }, []],
    ["reopening unparks nothing", { item: PARKED, event: event("reopened"), issue: stale }, []],
    [
      "an old addition, before the unpark",
      { item: item({ stateEventAt: at(60) }), event: labeled("stale") },
      [],
    ],
    [
      "an old removal, before the park",
      { item: item({ state: "parked", stateEventAt: at(60) }), event: unlabeled("stale") },
      [],
    ],
  ])("%s", (_, facts, plan) => expect(planOf(facts)).toEqual(plan));

  it("unparking does not admit", () => {
    const plan = planOf({
      item: item({ state: "parked", admitted: false }),
      event: unlabeled("stale"),
      issue: issue([GATE]),
    });
    expect(plan).toEqual([{ kind: "unpark", by: "alice" }]);
  });
});

describe("closing (section 8, row 32)", () => {
  const CLOSED = event("closed");
  const complete: Transition = { kind: "complete", by: "alice" };
  const cancel: Transition = { kind: "cancel", by: "alice" };

  it.each<Row>([
    ["a human, as completed", { event: CLOSED, issue: closed("completed") }, [complete]],
    ["a human, without a reason", { event: CLOSED, issue: closed(null) }, [complete]],
    ["a human, as not planned", { event: CLOSED, issue: closed("not_planned") }, [cancel]],
    ["a human, as a duplicate", { event: CLOSED, issue: closed("duplicate") }, [cancel]],
    ["a parked item", { event: CLOSED, issue: closed("completed"), item: PARKED }, [complete]],
    [
      "an agent: a divergence, and not complete",
      { event: CLOSED, issue: closed("completed"), actor: AGENT },
      [],
    ],
    ["row 26: a bot, as not planned", { event: CLOSED, issue: closed("not_planned"), actor: AGENT }, []],
    [
      "GitHub, on a merge into another branch than the item's",
      { event: CLOSED, issue: closed("completed"), closedByWrongMerge: true },
      [],
    ],
    [
      "it is complete already",
      { event: CLOSED, issue: closed("completed"), item: item({ state: "complete" }) },
      [],
    ],
    [
      "it is cancelled already",
      { event: CLOSED, issue: closed("duplicate"), item: item({ state: "cancelled" }) },
      [],
    ],
    ["a human reopened it since", { event: event("undone"), issue: issue() }, []],
    [
      "an agent reopened it since, which brings nothing back",
      { event: CLOSED, issue: issue([], { stateReason: "reopened" }), closedFor: "completed" },
      [complete],
    ],
    [
      "for the reason that it had then",
      { event: CLOSED, issue: issue([], { stateReason: "reopened" }), closedFor: "not_planned" },
      [cancel],
    ],
    [
      "late: a human had reopened it before we heard of it",
      { event: CLOSED, issue: issue(), item: item({ openSince: at(60) }) },
      [],
    ],
  ])("%s", (_, facts, plan) => expect(planOf(facts)).toEqual(plan));
});

describe("reopening and disappearing (sections 1 and 8)", () => {
  const REOPENED = event("reopened");
  const reopen: Transition = { kind: "reopen", by: "alice" };
  const gone: Transition = { kind: "cancel", by: "alice" };

  it.each<Row>([
    ["row 33: a complete item", { event: REOPENED, item: item({ state: "complete" }) }, [reopen]],
    ["a cancelled item", { event: REOPENED, item: item({ state: "cancelled" }) }, [reopen]],
    [
      "by an agent: it stays complete",
      { event: REOPENED, item: item({ state: "complete" }), actor: AGENT },
      [],
    ],
    [
      "by an agent: it stays cancelled",
      { event: REOPENED, item: item({ state: "cancelled" }), actor: AGENT },
      [],
    ],
    [
      "row 33: a live item: what ended it before, and is heard of later, comes too late",
      { event: REOPENED },
      [{ kind: "still_open", at: REOPENED.at }],
    ],
    ["a live item, by an agent", { event: REOPENED, actor: AGENT }, []],
    [
      "an agent closed it again since, which ends nothing",
      { event: REOPENED, item: item({ state: "complete" }), issue: closed("completed") },
      [reopen],
    ],
    [
      "in one second with the merge that completed it and closed the issue",
      {
        event: REOPENED,
        item: item({ state: "complete", stateEventAt: REOPENED.at }),
        issue: closed("completed"),
      },
      [],
    ],
    [
      "a human closed it again since",
      { event: event("undone"), item: item({ state: "complete" }), issue: closed("completed") },
      [],
    ],
    ["of a live item, noted already", { event: REOPENED, item: item({ openSince: REOPENED.at }) }, []],
    [
      "an old reopening, before it was completed",
      { event: REOPENED, item: item({ state: "complete", stateEventAt: at(60) }) },
      [],
    ],
    ["row 29: deleted: cancelled, never complete", { event: event("deleted") }, [gone]],
    ["row 28: transferred", { event: event("transferred") }, [gone]],
    [
      "row 30: converted to a discussion: cancelled, never complete",
      { event: event("converted"), issue: closed(null) },
      [gone],
    ],
    [
      "deleted by an agent: gone is gone",
      { event: event("deleted"), actor: AGENT },
      [{ kind: "cancel", by: "worker[bot]" }],
    ],
    ["a parked item is deleted", { event: event("deleted"), item: PARKED }, [gone]],
    ["a cancelled item is deleted", { event: event("deleted"), item: item({ state: "cancelled" }) }, []],
    ["nothing is written on an issue that is gone", { event: event("deleted"), item: UNADMITTED }, [gone]],
  ])("%s", (_, facts, plan) => expect(planOf(facts)).toEqual(plan));
});

const aLabel = fc.constantFrom(GATE, "stale", "backlog", "P0", "priority:P1", "bug");
const anEvent: fc.Arbitrary<IssueEvent> = fc.record({
  action: fc.constantFrom(
    ...["opened", "edited", "labeled", "unlabeled", "labeled", "unlabeled", "closed", "reopened"],
    ...["deleted", "transferred", "assigned", "pinned"],
  ),
  label: fc.option(aLabel, { freq: 5 }),
  bodyChanged: fc.boolean(),
  at: fc.constantFrom(at(-120), at(-60), NOW),
});
const anIssue: fc.Arbitrary<KnownIssue> = fc.record({
  open: fc.boolean(),
  stateReason: fc.constantFrom(null, "completed", "not_planned", "duplicate", "reopened"),
  labels: fc.uniqueArray(aLabel),
});
const aKnownItem: fc.Arbitrary<KnownItem> = fc.record({
  enrolled: fc.boolean(),
  admitted: fc.boolean(),
  admissionAt: fc.constantFrom(at(-120), at(-60), NOW),
  state: fc.constantFrom(null, null, "parked", "complete", "cancelled"),
  stateEventAt: fc.option(fc.constantFrom(at(-120), at(-60), NOW)),
  openSince: fc.option(fc.constantFrom(at(-120), at(-60), NOW)),
  priorities: fc.uniqueArray(fc.constantFrom("P0", "P1", "P2")),
  fallbackPriority: fc.constantFrom("P2", "P1"),
  isLeftAlone: fc.boolean(),
  parkAsked: fc.boolean(),
});
const factsWith = <Item extends KnownItem | null>(known: fc.Arbitrary<Item>) =>
  fc.record({
    event: anEvent,
    issue: anIssue,
    item: known,
    settings: fc.boolean().map((enrollAll) => settingsOf({ enrollAll })),
    actor: fc.constantFrom(HUMAN, AGENT),
    author: fc.constantFrom(HUMAN, AGENT),
    staleBy: fc.constant(null),
    closedFor: fc.constantFrom(null, "completed", "not_planned"),
    closedByWrongMerge: fc.boolean(),
    gateIsExplained: fc.constant(false),
  });
const anyFacts: fc.Arbitrary<IssueFacts> = factsWith(fc.option(aKnownItem));

/** What the item and its issue are once the plan was carried out and GitHub did what it was asked. */
function carriedOut<Facts extends IssueFacts & { item: KnownItem }>(
  facts: Facts,
  plan: readonly Transition[],
): Facts {
  let { item: known, issue: seen } = facts;
  for (const step of plan) {
    if (step.kind === "enrolled") known = { ...known, enrolled: step.enrolled };
    if (step.kind === "admit" || step.kind === "withdraw") {
      known = { ...known, admitted: step.kind === "admit", admissionAt: facts.event.at };
    }
    if (step.kind === "priorities") known = { ...known, priorities: step.values };
    if (step.kind === "add_label") seen = { ...seen, labels: [...seen.labels, step.label] };
    if (step.kind === "still_open") known = { ...known, openSince: step.at };
    if (step.kind === "ask_park") known = { ...known, parkAsked: step.by !== null };
    const state = {
      park: "parked",
      unpark: null,
      complete: "complete",
      cancel: "cancelled",
      reopen: null,
    } as const;
    if (step.kind in state) {
      const next = state[step.kind as keyof typeof state];
      known = { ...known, state: next, stateEventAt: facts.event.at, parkAsked: false };
    }
  }
  return { ...facts, item: known, issue: seen };
}

describe("any event on any item", () => {
  it("seen twice does nothing twice: all that is left is to have recorded the agent's attempt", () => {
    fc.assert(
      fc.property(factsWith(aKnownItem), (facts) => {
        const first = transitionsOf(facts);
        const second = transitionsOf(carriedOut(facts, first));
        const recorded = first.filter(({ kind }) => kind === "agent_removed_label");
        expect(second).toEqual(second.length === 0 ? [] : recorded);
      }),
      { numRuns: 5000 },
    );
  });

  it("fails closed: without a human nothing is admitted, parked, unparked, completed or called off", () => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const plan = transitionsOf({ ...facts, actor: AGENT, author: AGENT });
        const isGone = facts.event.action === "deleted" || facts.event.action === "transferred";
        for (const step of plan) {
          expect(["admit", "park", "ask_park", "unpark", "complete", "reopen"]).not.toContain(step.kind);
          if (step.kind === "cancel") expect(isGone).toBe(true);
          if (step.kind === "enrol") expect(step.admitted).toBe(false);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("never leaves an open item unadmitted without the label to show it", () => {
    fc.assert(
      fc.property(factsWith(aKnownItem), (facts) => {
        const { action, label } = facts.event;
        // Label events of the gate answer to who did it; a late or a human's one may leave the label to the next.
        if (label === GATE && (action === "labeled" || action === "unlabeled")) return;
        const { item: known, issue: seen } = carriedOut(facts, transitionsOf(facts));
        const isOver = known.state === "complete" || known.state === "cancelled";
        if (!known.enrolled || !seen.open || isOver || known.admitted) return;
        expect(hasLabel(seen.labels, GATE)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("asks GitHub for everything that the decision hangs on", () => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const reads = readsNeeded(facts.event, facts.issue, facts.item, facts.settings);
        const plans = (change: (value: boolean) => Partial<IssueFacts>) =>
          [true, false].map((value) => transitionsOf({ ...facts, ...change(value) }));
        const [asHuman, asAgent] = plans((human) => ({ actor: { login: "x", human } }));
        if (!reads.sender) expect(asHuman).toEqual(asAgent);
        const [byHuman, byAgent] = plans((human) => ({ author: { login: "x", human } }));
        if (!reads.author) expect(byHuman).toEqual(byAgent);
        const [wrong, right] = plans((closedByWrongMerge) => ({ closedByWrongMerge }));
        if (!reads.pulls) expect(wrong).toEqual(right);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a gate label that is not where it should be", () => {
  const missing = { item: UNADMITTED, actor: AGENT };

  it("is put back, unless the event list explains it: its own news will come", () => {
    expect(planOf({ ...missing })).toEqual([ADD_GATE]);
    expect(planOf({ ...missing, gateIsExplained: true })).toEqual([]);
  });

  it("row 19: is put back when its definition was deleted, whoever did that", () => {
    expect(planOf({ ...missing, event: unlabeled(null), actor: HUMAN, gateIsExplained: true })).toEqual([
      ADD_GATE,
    ]);
  });
});

describe("readsNeeded", () => {
  const reads = (given: IssueEvent, known: KnownItem | null = item(), seen = issue()) =>
    readsNeeded(given, seen, known, DEFAULT_SETTINGS);
  const NONE = { sender: false, author: false, events: false, pulls: false, stale: false, gate: false };

  it.each([
    ["an assignment", event("assigned")],
    ["another label", labeled("bug")],
    ["a title's edit", event("edited")],
  ])("asks nothing for %s", (_, given) => expect(reads(given)).toEqual(NONE));

  it.each([
    ["removes the gate label", unlabeled(GATE), UNADMITTED],
    ["removes the park label", unlabeled("stale"), PARKED],
    ["parks", labeled("stale"), item()],
    ["closes", event("closed"), item()],
    ["reopens what had ended", event("reopened"), item({ state: "complete" })],
  ])("row 21: asks who it was, and through what, when somebody %s", (_, given, known) =>
    expect(reads(given, known)).toMatchObject({ sender: true, events: true }),
  );

  it("asks who wrote an issue that becomes an item, and of nobody for one that does not", () => {
    expect(reads(event("opened"), null)).toMatchObject({ author: true });
    expect(reads(event("opened"), null, issue([], { labels: [] }))).toEqual(NONE);
    expect(reads(event("deleted"), null)).toEqual(NONE);
    expect(reads(labeled("backlog"), null, issue(["stale"]))).toMatchObject({ author: true, stale: true });
    expect(reads(labeled("stale"), null, issue(["stale"]))).toMatchObject({ sender: true, events: true });
    expect(reads(EDITED, null)).toMatchObject({ author: true, sender: true });
  });
});
