import { describe, expect, it } from "vitest";
import type { IssueEvent, KnownItem } from "../../src/domain/issue-transitions.ts";
import type { IssueSnapshot } from "../../src/domain/mirror-merge.ts";
import { type PlainFacts, plainChange } from "../../src/domain/plain-issue-event.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/settings.ts";
import { at, NOW } from "./facts.ts";

const snapshot = (labels: readonly string[], facts: Partial<IssueSnapshot> = {}): IssueSnapshot => ({
  number: 7,
  id: 700,
  nodeId: null,
  title: "Broken",
  body: null,
  open: true,
  stateReason: null,
  labels,
  authorId: 1,
  authorLogin: "alice",
  authorType: "User",
  authorAssociation: null,
  viaAppId: null,
  assignees: [],
  milestone: null,
  locked: false,
  url: "https://github.com/acme/widgets/issues/7",
  createdAt: at(-600),
  updatedAt: at(-60),
  closedAt: null,
  ...facts,
});

const event = (action: string, label: string | null = null, facts: Partial<IssueEvent> = {}): IssueEvent => ({
  action,
  label,
  bodyChanged: false,
  at: NOW,
  ...facts,
});

const ITEM: KnownItem = {
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
};

/** An event on an admitted item, with the labels that the issue has after it. */
const changeOf = (labels: readonly string[], facts: Partial<PlainFacts> = {}) =>
  plainChange({
    event: event("labeled", "docs"),
    incoming: snapshot(labels, { updatedAt: NOW }),
    stored: snapshot(["backlog"]),
    item: ITEM,
    settings: DEFAULT_SETTINGS,
    login: "alice",
    ...facts,
  });

describe("a plain change", () => {
  it("is a label that means nothing here: the mirror's row", () => {
    expect(changeOf(["backlog", "docs"])).toEqual({
      issue: snapshot(["backlog", "docs"], { updatedAt: NOW }),
      priorities: null,
    });
  });

  it("is a priority: the row and the item's tag", () => {
    expect(changeOf(["backlog", "P0"], { event: event("labeled", "P0") })?.priorities).toEqual(["P0"]);
  });

  it("is a priority that goes: what the item has without one", () => {
    const item = { ...ITEM, priorities: ["P0"], fallbackPriority: "P1" } as const;
    const change = changeOf(["backlog"], { event: event("unlabeled", "P0"), item });
    expect(change?.priorities).toEqual(["P1"]);
  });

  it("is an edit of the title, or of the body of an item that waits", () => {
    const edited = { incoming: snapshot(["backlog"], { title: "Mended", updatedAt: NOW }) };
    expect(changeOf([], { ...edited, event: event("edited") })?.issue?.title).toBe("Mended");
    const item = { ...ITEM, admitted: false };
    const stored = snapshot(["backlog", "needs-specification"]);
    const incoming = { ...stored, body: "More", updatedAt: NOW };
    const waiting = changeOf([], {
      event: event("edited", null, { bodyChanged: true }),
      item,
      stored,
      incoming,
    });
    expect(waiting).toEqual({ issue: incoming, priorities: null });
  });

  it("is nothing at all when it comes late", () => {
    const late = { event: event("edited"), incoming: snapshot(["backlog"], { updatedAt: at(-120) }) };
    expect(changeOf([], late)).toEqual({ issue: null, priorities: null });
  });

  it("is whatever happens to an issue that is no item and becomes none", () => {
    const stored = snapshot([]);
    const incoming = snapshot([], { open: false, updatedAt: NOW });
    const closed = changeOf([], { event: event("closed"), item: null, stored, incoming });
    expect(closed).toEqual({ issue: incoming, priorities: null });
  });
});

describe("no plain change", () => {
  it.each<[string, readonly string[], Partial<PlainFacts>]>([
    [
      "the gate put on",
      ["backlog", "needs-specification"],
      { event: event("labeled", "needs-specification") },
    ],
    [
      "the gate taken off",
      ["backlog"],
      { event: event("unlabeled", "needs-specification"), item: { ...ITEM, admitted: false } },
    ],
    ["the park's label", ["backlog", "stale"], { event: event("labeled", "stale") }],
    ["the park's label taken off", ["backlog"], { event: event("unlabeled", "stale") }],
    ["a close", ["backlog"], { event: event("closed") }],
    ["a reopening", ["backlog"], { event: event("reopened") }],
    ["an admitted item's body", ["backlog"], { event: event("edited", null, { bodyChanged: true }) }],
    [
      "what makes an item",
      ["backlog"],
      { event: event("labeled", "backlog"), item: null, stored: snapshot([]) },
    ],
    ["what ends its being one", ["docs"], { event: event("unlabeled", "backlog") }],
    ["a missing gate", ["backlog"], { event: event("assigned"), item: { ...ITEM, admitted: false } }],
    ["a deletion", ["backlog"], { event: event("deleted") }],
    ["a transfer", ["backlog"], { event: event("transferred") }],
  ])("is %s", (_, labels, facts) => {
    expect(changeOf(labels, facts)).toBeNull();
  });
});
