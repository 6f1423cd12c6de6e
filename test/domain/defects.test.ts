import { describe, expect, it } from "vitest";
import { type DefectCode, type DefectFacts, defectsOf } from "../../src/domain/defects.ts";
import type { ItemFacts } from "../../src/domain/why-not.ts";
import { at, blocker, HELD, item, LONER, NOW, tagsWith } from "./facts.ts";

const facts = (
  over: Partial<ItemFacts> = {},
  rest: Partial<Omit<DefectFacts, "item">> = {},
): DefectFacts => ({
  item: item(over),
  reading: "consistent",
  relations: [],
  cycles: [],
  drifted: [],
  expiresAt: null,
  shape: LONER,
  since: at(-60),
  settledBefore: at(-300),
  stateAt: null,
  ...rest,
});
const tagged = (prefix: string, ...tags: string[]) => facts({ tags: tagsWith(prefix, ...tags) });
const drifted = (path: string, seconds: number) => ({
  repositoryId: 10,
  target: `file/${path}`,
  branch: "main",
  captured: "a1",
  current: "a2",
  driftedAt: at(seconds),
});
const DRIFTED = { drifted: [drifted("src/a.ts", -60), drifted("docs/", -30)] };
const DONE = { state: "complete", tags: tagsWith("state:", "state:complete") } as const;

/** A line about a defect also says what a person can do about it. */
const ADVICE = /\b(add|close|file|forget|keep|mend|merge|remove|reopen|rule|see|set|take|unpark|check)\b/;

describe("defectsOf", () => {
  it.each<[DefectCode, string, DefectFacts, string]>([
    [
      "complete_with_open_pr",
      "its pull request is still open",
      facts({ ...DONE, review: { review: "again", pull: 12, waits: null } }),
      "#12",
    ],
    ["ttl_on_item", "its record would expire", facts({}, { expiresAt: at(60) }), at(60).toISOString()],
    ["missing_tag", "the marker", facts({ tags: tagsWith("backlog") }), "backlog"],
    ["missing_tag", "the priority", tagged("priority:"), "priority:"],
    ["missing_tag", "the phase", tagged("phase:"), "phase:"],
    ["missing_tag", "the region", tagged("homeRegion:"), "homeRegion:"],
    ["missing_tag", "the base", tagged("baseBranch:"), "baseBranch:"],
    ["missing_tag", "a priority that is none", tagged("priority:", "priority:P9"), "P9"],
    [
      "duplicate_tag",
      "two priorities",
      tagged("priority:", "priority:P0", "priority:P1"),
      "priority:P0, priority:P1",
    ],
    [
      "duplicate_tag",
      "two bases",
      tagged("baseBranch:", "baseBranch:dev", "baseBranch:main"),
      "baseBranch:dev, baseBranch:main",
    ],
    ["unknown_state", "a state that is none", tagged("state:", "state:done"), "done"],
    ["unknown_state", "cancelled has no tag", tagged("state:", "state:cancelled"), "cancelled"],
    [
      "unknown_state",
      "both states",
      facts({
        state: "complete",
        issueOpen: false,
        tags: tagsWith("state:", "state:complete", "state:parked"),
      }),
      "complete, parked",
    ],
    ["phase_carries_state", "a status as a phase", tagged("phase:", "phase:done"), "done"],
    ["dangling_blocker", "a blocker that is not there", facts({ blockers: [blocker(3, "missing")] }), "#3"],
    [
      "dangling_blocker",
      "one elsewhere that is not there",
      facts({ blockers: [blocker(null, "missing")] }),
      "repo/o/other/mem/backlog/issue-9",
    ],
    ["stalled_blocker", "a parked or cancelled blocker", facts({ blockers: [blocker(3, "stalled")] }), "#3"],
    ["unknown_relation", "a relation that is none", facts({}, { relations: ["blocks"] }), "blocks"],
    [
      "claimed_but_unmarked",
      "grants without markers",
      facts({ attempts: 2 }, { reading: "claimed_but_unmarked" }),
      "2",
    ],
    [
      "marker_without_grant",
      "more markers than grants",
      facts({ attempts: 2 }, { reading: "marker_without_grant" }),
      "2",
    ],
    ["stale_anchor", "files that changed", facts({}, DRIFTED), "src/a.ts, docs/"],
    [
      "stale_anchor",
      "of a parked item",
      facts({ state: "parked", tags: tagsWith("state:", "state:parked") }, DRIFTED),
      "src/a.ts, docs/",
    ],
    ["issue_closed_item_live", "closed by an agent", facts({ issueOpen: false }), "closed"],
    ["item_complete_issue_open", "still open long after", facts(DONE, { stateAt: at(-301) }), "open"],
  ])("%s: %s", (code, _, given, value) =>
    expect(defectsOf(given)).toEqual([
      { code, number: 7, value, since: at(-60), detail: expect.stringMatching(ADVICE) },
    ]),
  );

  it.each<[string, DefectFacts]>([
    ["an item in order", facts()],
    ["an item that is held", facts({ claim: HELD, attempts: 1 })],
    [
      "tags that may repeat",
      facts({ tags: tagsWith("pr:", "pr:1", "pr:2", "resource:a", "resource:b", "trait:c", "trait:d") }),
    ],
    [
      "a live, a complete and an unseen blocker",
      facts({ blockers: [blocker(3), blocker(4, "satisfied"), blocker(null, "unknown")] }),
    ],
    [
      "every known relation",
      facts(
        {},
        { relations: ["blockedBy", "partOf", "integrates", "informs", "anchoredTo", "related", "claims"] },
      ),
    ],
    ["a gap that the union covers: attempts report it", facts({ attempts: 2 }, { reading: "gap" })],
    ["never claimed", facts({}, { reading: "never_claimed" })],
    ["a complete item whose issue is closed", facts({ ...DONE, issueOpen: false }, { stateAt: at(-301) })],
    ["a complete item whose issue is about to be closed", facts(DONE, { stateAt: at(-299) })],
    [
      "a complete item whose merge changed what it was anchored to",
      facts({ ...DONE, issueOpen: false }, DRIFTED),
    ],
    ["a cancelled item that is stale", facts({ state: "cancelled", issueOpen: false }, DRIFTED)],
    ["a cancelled item whose issue is closed", facts({ state: "cancelled", issueOpen: false })],
    ["a parked item", facts({ state: "parked", tags: tagsWith("state:", "state:parked") })],
  ])("finds nothing wrong with %s", (_, given) => expect(defectsOf(given)).toEqual([]));

  it("reports a stalled blocker with the ruling owner and the question", () => {
    const parked = blocker(3, "stalled", { rulingOwner: "@lead", question: "Which API?" });
    const [defect] = defectsOf(facts({ blockers: [parked] }));
    expect(defect?.detail).toContain("#3");
    expect(defect?.detail).toContain("@lead");
    expect(defect?.detail).toContain("Which API?");
  });

  it("absorbs nothing: everything that is wrong is reported, each once", () => {
    const broken = facts(
      {
        tags: ["phase:done", "state:x", "baseBranch:a", "baseBranch:b"],
        issueOpen: false,
        blockers: [blocker(3, "missing"), blocker(4, "missing"), blocker(5, "stalled")],
      },
      { reading: "claimed_but_unmarked", relations: ["x", "y"] },
    );
    expect(
      defectsOf(broken)
        .map(({ code }) => code)
        .sort(),
    ).toEqual([
      "claimed_but_unmarked",
      "dangling_blocker",
      "dangling_blocker",
      "duplicate_tag",
      "issue_closed_item_live",
      "missing_tag",
      "missing_tag",
      "missing_tag",
      "phase_carries_state",
      "stalled_blocker",
      "unknown_relation",
      "unknown_relation",
      "unknown_state",
    ]);
  });

  it("is settled only after the time that GitHub is given", () => {
    const codes = (stateAt: Date) => defectsOf(facts(DONE, { stateAt })).map(({ code }) => code);
    expect(codes(at(-300))).toEqual([]);
    expect(codes(at(-300.001))).toEqual(["item_complete_issue_open"]);
    expect(codes(NOW)).toEqual([]);
  });
});
