import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type IssueDelta, type IssueSnapshot, mergeIssue } from "../../src/domain/mirror-merge.ts";
import { at } from "./facts.ts";

const snapshot = (seconds: number, facts: Partial<IssueSnapshot> = {}): IssueSnapshot => ({
  number: 7,
  id: 3_387_467_460,
  nodeId: "I_7",
  title: "Lay the pipe",
  body: null,
  open: true,
  stateReason: null,
  labels: [],
  authorId: 1,
  authorLogin: "alice",
  authorType: "User",
  authorAssociation: "OWNER",
  viaAppId: null,
  assignees: [],
  milestone: null,
  locked: false,
  url: "https://github.com/o/r/issues/7",
  createdAt: at(-1000),
  updatedAt: at(seconds),
  closedAt: null,
  ...facts,
});

interface Arrival {
  readonly snapshot: IssueSnapshot;
  readonly delta: IssueDelta;
}
const event = (action: string | null, seen: IssueSnapshot, label: string | null = null): Arrival => ({
  snapshot: seen,
  delta: { action, label },
});
const READ = null;

/** The mirror after these arrived in this order. */
function mirrorOf(arrivals: readonly Arrival[], stored: IssueSnapshot | null = null): IssueSnapshot {
  const last = arrivals.reduce((mirror, { snapshot: incoming, delta }) => {
    const change = mergeIssue(mirror, incoming, delta);
    return change.kind === "save" ? change.issue : mirror;
  }, stored);
  if (last === null) throw new Error("nothing arrived");
  return last;
}

const GATE = "needs-specification";

describe("row 4: `opened` may lack the labels that were set at creation", () => {
  const opened = (seconds: number) => event("opened", snapshot(seconds));
  const labeled = (seconds: number) => event("labeled", snapshot(seconds, { labels: [GATE] }), GATE);

  it.each([
    ["the label first, `opened` late", [labeled(1), opened(0)]],
    ["the label first, both in one second", [labeled(0), opened(0)]],
    ["`opened` first", [opened(0), labeled(1)]],
    ["`opened` first, both in one second", [opened(0), labeled(0)]],
    ["twice", [labeled(0), opened(0), labeled(0), opened(0)]],
  ])("%s: the label is kept", (_, arrivals) => expect(mirrorOf(arrivals).labels).toEqual([GATE]));
});

describe("row 5: what GitHub still shows does not undo what it announced", () => {
  const before = snapshot(0, { labels: ["bug", GATE] });
  const removal = (seconds: number) => event("unlabeled", snapshot(seconds, { labels: ["bug", GATE] }), GATE);

  it.each([
    ["the event's own label counts over its snapshot", [removal(1)]],
    ["within the same second too", [removal(0)]],
    ["a read that is older does not restore it", [removal(1), event(READ, before)]],
    ["nor one of the same second", [removal(1), event(READ, snapshot(1, { labels: ["bug", GATE] }))]],
    [
      "nor another event of that second",
      [removal(1), event("edited", snapshot(1, { labels: ["bug", GATE] }))],
    ],
    [
      "the label was spelled differently",
      [event("unlabeled", snapshot(1, { labels: ["bug", "Needs-Specification"] }), GATE)],
    ],
    ["twice", [removal(1), removal(1)]],
  ])("%s", (_, arrivals) => expect(mirrorOf(arrivals, before).labels).toEqual(["bug"]));

  it("a later read is believed", () => {
    expect(mirrorOf([removal(1), event(READ, snapshot(2, { labels: [GATE] }))], before).labels).toEqual([
      GATE,
    ]);
  });

  it("an added label is there though the snapshot lacks it, and once", () => {
    expect(mirrorOf([event("labeled", snapshot(1), GATE)], before).labels).toEqual([GATE]);
    const other = event("labeled", snapshot(1, { labels: ["NEEDS-specification"] }), GATE);
    expect(mirrorOf([other], before).labels).toEqual(["NEEDS-specification"]);
  });

  it("row 19: the removal of a deleted label names none, and breaks nothing", () => {
    expect(mirrorOf([event("unlabeled", snapshot(1, { labels: ["bug"] }))], before).labels).toEqual(["bug"]);
  });
});

describe("an older snapshot never overwrites a newer one", () => {
  const stored = snapshot(5, {
    title: "New",
    body: "new",
    labels: ["P1"],
    open: false,
    stateReason: "completed",
  });

  it.each(["opened", "edited", "labeled", "unlabeled", "closed", "reopened", "assigned", "locked", READ])(
    "%s",
    (action) => {
      const late = snapshot(4, { title: "Old", labels: [GATE] });
      expect(mergeIssue(stored, late, { action, label: GATE })).toEqual({ kind: "older" });
    },
  );

  it.each(["edited", "closed", "milestoned", READ])("%s: a newer one is taken whole", (action) => {
    const newer = snapshot(6, { title: "Newest", locked: true });
    expect(mergeIssue(stored, newer, { action, label: null })).toEqual({ kind: "save", issue: newer });
  });

  it("takes whatever is first", () => {
    const first = snapshot(-1_000_000);
    expect(mergeIssue(null, first, { action: READ, label: null })).toEqual({ kind: "save", issue: first });
  });
});

describe("within one second only what the action is about changes", () => {
  const stored = snapshot(0, { title: "A", body: "a", labels: ["P1"] });
  const incoming = snapshot(0, {
    title: "B",
    body: "b",
    labels: ["P2"],
    open: false,
    stateReason: "completed",
    closedAt: at(0),
    assignees: ["bob"],
    milestone: "1.0",
    locked: true,
  });

  it.each<[string | null, string | null, Partial<IssueSnapshot>]>([
    ["edited", null, { title: "B", body: "b" }],
    ["closed", null, { open: false, stateReason: "completed", closedAt: at(0) }],
    ["labeled", "bug", { labels: ["P1", "bug"] }],
    ["unlabeled", "p1", { labels: [] }],
    ["assigned", null, { assignees: ["bob"] }],
    ["unassigned", null, { assignees: ["bob"] }],
    ["milestoned", null, { milestone: "1.0" }],
    ["demilestoned", null, { milestone: "1.0" }],
    ["locked", null, { locked: true }],
    ["unlocked", null, { locked: true }],
    ["opened", null, {}],
    ["pinned", null, {}],
    [READ, null, {}],
  ])("%s %s", (action, label, changed) =>
    expect(mirrorOf([event(action, incoming, label)], stored)).toEqual({ ...stored, ...changed }),
  );

  it("edited, and not the body: it may be older than the edit of the body that was heard of before", () => {
    const delta = { action: "edited", label: null, bodyChanged: false };
    const { title } = incoming;
    expect(mergeIssue(stored, incoming, delta)).toEqual({ kind: "save", issue: { ...stored, title } });
  });

  it("reopened", () => {
    const closed = snapshot(0, { open: false, stateReason: "completed", closedAt: at(0) });
    const reopened = snapshot(0, { stateReason: "reopened", title: "Other" });
    expect(mirrorOf([event("reopened", reopened)], closed)).toEqual({
      ...closed,
      open: true,
      stateReason: "reopened",
      closedAt: null,
    });
  });
});

/** One thing that people do to an issue: its action, its label, and what it changes. */
interface Act {
  readonly action: string;
  readonly label: string | null;
  readonly apply: (issue: IssueSnapshot) => IssueSnapshot;
}
const changes = (action: string, facts: Partial<IssueSnapshot>): Act => ({
  action,
  label: null,
  apply: (issue) => ({ ...issue, ...facts }),
});
const adds = (label: string): Act => ({
  action: "labeled",
  label,
  apply: (issue) => ({ ...issue, labels: [...issue.labels.filter((name) => name !== label), label] }),
});
const removes = (label: string): Act => ({
  action: "unlabeled",
  label,
  apply: (issue) => ({ ...issue, labels: issue.labels.filter((name) => name !== label) }),
});
const aLabel = fc.constantFrom("backlog", GATE, "stale", "P1");
const anAct: fc.Arbitrary<Act> = fc.oneof(
  aLabel.map(adds),
  aLabel.map(removes),
  fc.constantFrom("A", "B").map((title) => changes("edited", { title })),
  fc
    .constantFrom("completed", "not_planned")
    .map((stateReason) => changes("closed", { open: false, stateReason })),
  fc.constant(changes("reopened", { open: true, stateReason: "reopened" })),
  fc.constantFrom("1.0", null).map((milestone) => changes("milestoned", { milestone })),
  fc.boolean().map((locked) => changes(locked ? "locked" : "unlocked", { locked })),
  fc.constant(changes("pinned", {})),
);

/** The deliveries that GitHub makes of these acts, each at its own time, and the issue that remains. */
function played(acts: readonly Act[], secondsBetween: number): { arrivals: Arrival[]; issue: IssueSnapshot } {
  let issue = snapshot(0);
  const arrivals = [event("opened", issue)];
  acts.forEach(({ action, label, apply }, index) => {
    issue = { ...apply(issue), updatedAt: at(1 + index * secondsBetween) };
    arrivals.push(event(action, issue, label));
  });
  return { arrivals, issue };
}

const sorted = (issue: IssueSnapshot) => ({ ...issue, labels: issue.labels.toSorted() });

describe("out of order", () => {
  it("ends as it does in order, when every event has its own time, however often each arrives", () => {
    const plays = fc
      .array(anAct, { minLength: 1, maxLength: 8 })
      .map((acts) => played(acts, 1))
      .chain(({ arrivals, issue }) =>
        fc.record({
          issue: fc.constant(issue),
          inOrder: fc.constant(arrivals),
          shuffled: fc.shuffledSubarray([...arrivals, ...arrivals], {
            minLength: 2 * arrivals.length,
            maxLength: 2 * arrivals.length,
          }),
        }),
      );
    fc.assert(
      fc.property(plays, ({ issue, inOrder, shuffled }) => {
        expect(sorted(mirrorOf(inOrder))).toEqual(sorted(issue));
        expect(sorted(mirrorOf(shuffled))).toEqual(sorted(issue));
      }),
      { numRuns: 500 },
    );
  });

  it("ends as it does in order also within one second, when the acts are about different things", () => {
    const oneOfEach = [
      adds("backlog"),
      adds(GATE),
      changes("edited", { title: "B" }),
      changes("closed", { open: false, stateReason: "completed" }),
      changes("milestoned", { milestone: "1.0" }),
      changes("locked", { locked: true }),
    ];
    const some = fc.shuffledSubarray(oneOfEach, { minLength: 1 }).map((acts) => played(acts, 0));
    const plays = some.chain(({ arrivals, issue }) =>
      fc.record({
        issue: fc.constant(issue),
        shuffled: fc.shuffledSubarray(arrivals, { minLength: arrivals.length, maxLength: arrivals.length }),
      }),
    );
    fc.assert(
      fc.property(plays, ({ issue, shuffled }) => {
        expect(sorted(mirrorOf(shuffled))).toEqual(sorted(issue));
      }),
      { numRuns: 500 },
    );
  });
});
