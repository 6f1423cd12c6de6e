import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Defect, DefectCode } from "../../src/domain/defects.ts";
import { byUrgency, readySet, whyNotReady } from "../../src/domain/ready-set.ts";
import type { ItemFacts } from "../../src/domain/why-not.ts";
import { anItem, at, blocker, claim, HELD, HOME, item, LAPSED, NOW, RELEASED, tagsWith } from "./facts.ts";

const defect = (number: number, code: DefectCode): Defect => ({
  code,
  number,
  detail: `${code}: what to do`,
  value: "x",
  since: NOW,
});
const setOf = (items: readonly ItemFacts[], defects: readonly Defect[] = [], region: string | null = null) =>
  readySet(items, defects, { now: NOW, region });
const numbers = (items: readonly { number: number }[]) => items.map(({ number }) => number);

const priority = (value: string) => tagsWith("priority:", `priority:${value}`);
const waitsFor = (number: number, ...on: number[]): ItemFacts =>
  item({ number, blockers: on.map((each) => blocker(each)) });
const held = (number: number) => item({ number, claim: HELD });
const AGAIN = { review: "again", pull: 12, waits: null } as const;
const inReview = (number: number, facts: Partial<ItemFacts> = {}): ItemFacts =>
  item({ number, review: { review: "in_review", pull: 12, waits: "checks" }, ...facts });
const unadmitted = (number: number, facts: Partial<ItemFacts> = {}) =>
  item({ number, admitted: false, ...facts });
const parked = (number: number) => item({ number, state: "parked" });

describe("the order: (priority, createdAt, number)", () => {
  it.each<[string, ItemFacts, ItemFacts]>([
    [
      "priority first",
      item({ number: 9, tags: priority("P0") }),
      item({ number: 1, tags: priority("P1"), createdAt: at(-9e6) }),
    ],
    ["then age", item({ number: 9, createdAt: at(-2) }), item({ number: 1, createdAt: at(-1) })],
    ["then number, and not as text", item({ number: 9 }), item({ number: 10 })],
  ])("%s", (_, first, second) => {
    expect(byUrgency(first, second)).toBeLessThan(0);
    expect(byUrgency(second, first)).toBeGreaterThan(0);
    expect(numbers(setOf([second, first]).ready)).toEqual([first.number, second.number]);
  });

  it("is the same whatever order the items come in", () => {
    const unique = fc.uniqueArray(anItem, { selector: ({ number }) => number, maxLength: 8 });
    fc.assert(
      fc.property(unique, (items) => {
        const { ready } = setOf(items);
        expect(numbers(setOf(items.toReversed()).ready)).toEqual(numbers(ready));
        ready.forEach((each, index) => {
          const next = ready[index + 1];
          if (next) expect(byUrgency(each, next)).toBeLessThan(0);
        });
      }),
    );
  });
});

describe("the lists", () => {
  it.each<[string, ItemFacts, "ready" | "waiting" | "inFlight" | "awaitingAdmission" | "parked" | "none"]>([
    ["claimable", item(), "ready"],
    ["lapsed: simply claimable again", item({ claim: LAPSED }), "ready"],
    ["blockers complete", item({ blockers: [blocker(3, "satisfied")] }), "ready"],
    ["held", held(7), "inFlight"],
    ["held, although admission was withdrawn meanwhile", item({ admitted: false, claim: HELD }), "inFlight"],
    ["held, although a blocker came up meanwhile", item({ blockers: [blocker(3)], claim: HELD }), "inFlight"],
    ["held at the threshold", item({ attempts: 3, claim: HELD }), "inFlight"],
    ["not admitted", unadmitted(7), "awaitingAdmission"],
    ["not admitted and blocked", unadmitted(7, { blockers: [blocker(3)] }), "awaitingAdmission"],
    ["blocked", waitsFor(7, 3), "waiting"],
    ["blocked, after a lapse", item({ blockers: [blocker(3)], claim: LAPSED }), "waiting"],
    ["not admitted, after a release", unadmitted(7, { claim: RELEASED }), "awaitingAdmission"],
    ["a grouping", item({ parts: 1, openParts: 1 }), "waiting"],
    ["at the threshold", item({ attempts: 3 }), "waiting"],
    ["in review", inReview(7), "waiting"],
    ["in review, held", inReview(7, { claim: HELD }), "inFlight"],
    ["with a pull request to go on with", item({ review: AGAIN }), "ready"],
    ["closed by an agent", item({ issueOpen: false }), "waiting"],
    ["parked", parked(7), "parked"],
    ["complete", item({ state: "complete" }), "none"],
    ["cancelled", item({ state: "cancelled" }), "none"],
    ["not enrolled", item({ enrolled: false }), "none"],
    ["not enrolled, and parked", item({ enrolled: false, state: "parked" }), "none"],
  ])("%s: %s", (_, facts, list) => {
    const set = setOf([facts]);
    const lists = {
      ready: numbers(set.ready),
      waiting: numbers(set.waiting),
      inFlight: numbers(set.inFlight),
      awaitingAdmission: set.awaitingAdmission,
      parked: set.parked,
    };
    const empty = { ready: [], waiting: [], inFlight: [], awaitingAdmission: [], parked: [] };
    expect(lists).toEqual(list === "none" ? empty : { ...empty, [list]: [7] });
    expect(set.pending).toBe(list === "none" || list === "parked" ? 0 : 1);
  });

  it("puts first what can be merged now, whatever its priority", () => {
    const urgent = item({ number: 1, tags: tagsWith("priority:", "priority:P0") });
    const resumable = item({ number: 2, review: { review: "resumable", pull: 12, waits: null } });
    expect(numbers(setOf([urgent, resumable]).ready)).toEqual([2, 1]);
  });

  it("says why an item waits, and when a lease ends", () => {
    const set = setOf([waitsFor(7, 3), item({ number: 8, claim: claim({ leaseExpiresAt: at(12) }) })]);
    expect(set.waiting).toEqual([{ number: 7, reasons: [{ reason: "blocked", on: [3] }] }]);
    expect(set.inFlight).toEqual([{ number: 8, leaseExpiresAt: at(12), isHeld: true }]);
  });

  it("takes only the items of the caller's region, if the caller names one", () => {
    const items = [item({ number: 1 }), item({ number: 2, tags: tagsWith("homeRegion:", "homeRegion:eu") })];
    expect(numbers(setOf(items).ready)).toEqual([1, 2]);
    expect(numbers(setOf(items, [], HOME).ready)).toEqual([1]);
    expect(numbers(setOf(items, [], "eu").ready)).toEqual([2]);
  });
});

describe("overlapping (step 11)", () => {
  const anchored = (number: number, radius: string[], facts: Partial<ItemFacts> = {}) =>
    item({ number, radius, ...facts });
  /** Its lease ended a second ago, and its branch was pushed to since. */
  const active = { claim: LAPSED, activeAt: at(-0.5) };

  it.each<[string, ItemFacts, boolean]>([
    ["is held", anchored(1, ["src"], { claim: HELD }), true],
    ["is quarantined", anchored(1, ["src"], active), true],
    ["lapsed without a sign of life", anchored(1, ["src"], { claim: LAPSED }), false],
    ["is only ready itself", anchored(1, ["src"]), false],
    ["touches something else", anchored(1, ["docs"], { claim: HELD }), false],
  ])("an item that meets one which %s: %s", (_, other, meets) => {
    const set = setOf([other, anchored(7, ["src/a.ts"])]);
    expect(set.overlapping).toEqual(meets ? [{ number: 7, with: [1] }] : []);
    expect(numbers(set.ready).includes(7)).toBe(!meets);
  });

  it("names every item that it meets", () => {
    const flights = [1, 2, 3].map((number) => anchored(number, ["src"], { claim: HELD }));
    expect(setOf([anchored(7, ["src/a.ts"]), ...flights]).overlapping).toEqual([
      { number: 7, with: [1, 2, 3] },
    ]);
  });

  it("or waits for a resource that another item holds: it is told of as waiting, and is a candidate", () => {
    const wants = item({ number: 8, takenResources: ["staging"] });
    const set = setOf([wants]);
    expect(set).toMatchObject({ verdict: "overlapping", ready: [], overlapping: [] });
    expect(set.waiting).toEqual([
      {
        number: 8,
        reasons: [expect.objectContaining({ reason: "resource_unavailable", resources: ["staging"] })],
      },
    ]);
    expect(setOf([{ ...wants, admitted: false }]).verdict).toBe("waiting");
    expect(setOf([wants, item({ number: 9 })]).verdict).toBe("ready");
  });

  it("is the verdict when nothing else could be claimed", () => {
    const flight = anchored(1, ["src"], { claim: HELD });
    expect(setOf([flight, anchored(7, ["src"])]).verdict).toBe("overlapping");
    expect(setOf([flight, anchored(7, ["src"]), item({ number: 8 })]).verdict).toBe("ready");
  });
});

describe("defects (section 6: tag, state, blocker and base-branch defects take an item out)", () => {
  it.each<DefectCode>([
    "missing_tag",
    "duplicate_tag",
    "unknown_state",
    "phase_carries_state",
    "dangling_blocker",
    "stalled_blocker",
    "dependency_cycle",
    "wrong_base",
  ])("%s does", (code) => {
    const set = setOf([item()], [defect(7, code)]);
    expect(set.ready).toEqual([]);
    expect(set.waiting).toEqual([
      { number: 7, reasons: [{ reason: "defect", detail: `${code}: what to do` }] },
    ]);
    expect(set.verdict).toBe("alarm");
  });

  it.each<DefectCode>([
    "doubtful_merge",
    "claimed_but_unmarked",
    "marker_without_grant",
    "label_removed_by_agent",
    "stale_anchor",
    "unknown_relation",
  ])("%s only reports", (code) => {
    expect(numbers(setOf([item()], [defect(7, code)]).ready)).toEqual([7]);
    expect(whyNotReady(item(), [defect(7, code)], { now: NOW, region: null })).toEqual([]);
  });

  it("one item's defect takes no other out", () => {
    expect(
      numbers(setOf([item({ number: 7 }), item({ number: 8 })], [defect(8, "missing_tag")]).ready),
    ).toEqual([7]);
  });
});

describe("the verdict", () => {
  const IN_FLIGHT = held(1);
  const STALLED = item({ number: 7, blockers: [blocker(3, "stalled")] });

  it.each<[string, string, ItemFacts[]]>([
    ["idle", "no items at all", []],
    ["idle", "all are complete, cancelled or parked", [item({ state: "complete" }), parked(8)]],
    ["idle", "an item that is no longer enrolled", [item({ enrolled: false })]],
    ["ready", "something to claim", [item()]],
    ["ready", "something to claim beside something that starves", [item({ number: 1 }), STALLED]],
    ["waiting", "everything in flight", [IN_FLIGHT, held(2)]],
    ["waiting", "a human's admission", [unadmitted(1)]],
    ["waiting", "blocked by what is in flight", [IN_FLIGHT, waitsFor(2, 1)]],
    ["waiting", "blocked by what waits for admission", [unadmitted(1), waitsFor(2, 1)]],
    ["waiting", "blocked by both", [IN_FLIGHT, unadmitted(2), waitsFor(3, 1, 2)]],
    [
      "waiting",
      "a chain behind what is in flight",
      [IN_FLIGHT, waitsFor(2, 1), waitsFor(3, 2), waitsFor(4, 3)],
    ],
    ["waiting", "a chain, the last link first", [waitsFor(2, 3), waitsFor(3, 4), waitsFor(4, 5), held(5)]],
    ["waiting", "a diamond", [IN_FLIGHT, waitsFor(2, 1), waitsFor(3, 1), waitsFor(4, 2, 3)]],
    [
      "waiting",
      "not admitted, and blocked by what is in flight",
      [IN_FLIGHT, unadmitted(2, { blockers: [blocker(1)] })],
    ],
    [
      "waiting",
      "one blocker complete, the other in flight",
      [IN_FLIGHT, item({ number: 2, blockers: [blocker(9, "satisfied"), blocker(1)] })],
    ],
    ["waiting", "an epic whose item is in flight", [item({ number: 1, parts: 1, openParts: 1 }), held(2)]],
    [
      "waiting",
      "an epic, and what is blocked by it",
      [item({ number: 1, parts: 1, openParts: 1 }), held(2), waitsFor(3, 1)],
    ],
    ["alarm", "a stalled blocker", [STALLED, parked(3)]],
    ["alarm", "a stalled blocker, though another item is in flight", [IN_FLIGHT, STALLED, parked(3)]],
    [
      "alarm",
      "one blocker in flight, one parked",
      [IN_FLIGHT, item({ blockers: [blocker(1), blocker(3, "stalled")] })],
    ],
    ["alarm", "a blocker that is not there", [item({ blockers: [blocker(99, "missing")] })]],
    ["alarm", "a blocker with an unknown state", [item({ blockers: [blocker(99, "invalid")] })]],
    ["alarm", "a chain that ends in a parked item", [waitsFor(8, 7), STALLED, IN_FLIGHT]],
    ["alarm", "a cycle", [waitsFor(1, 2), waitsFor(2, 1)]],
    ["alarm", "an item that blocks itself", [waitsFor(1, 1)]],
    ["alarm", "a cycle, though another item is in flight", [IN_FLIGHT, waitsFor(2, 3), waitsFor(3, 2)]],
    ["alarm", "what hangs on a cycle", [IN_FLIGHT, waitsFor(2, 3), waitsFor(3, 2), waitsFor(4, 1, 2)]],
    [
      "alarm",
      "blocked by an item that is no longer enrolled",
      [item({ number: 3, enrolled: false }), waitsFor(7, 3)],
    ],
    ["alarm", "closed by an agent", [item({ issueOpen: false })]],
    ["alarm", "at the threshold, and not parked yet", [item({ attempts: 3 })]],
    ["alarm", "a blocker that cannot be seen", [item({ blockers: [blocker(null, "unknown")] })]],
    [
      "alarm",
      "a blocker in flight, and one that cannot be seen",
      [IN_FLIGHT, item({ blockers: [blocker(1), blocker(null, "unknown")] })],
    ],
    [
      "alarm",
      "a cycle of items that wait for admission: admitting them frees none",
      [unadmitted(1, { blockers: [blocker(2)] }), unadmitted(2, { blockers: [blocker(1)] })],
    ],
    [
      "alarm",
      "not admitted, and behind a parked item",
      [unadmitted(1, { blockers: [blocker(3, "stalled")] }), parked(3)],
    ],
    [
      "alarm",
      "an epic alone: all that was part of it is parked",
      [item({ number: 1, parts: 1, openParts: 1 }), parked(2)],
    ],
  ])("%s: %s", (verdict, _, items) => expect(setOf(items).verdict).toBe(verdict));

  it("is alarm for an item with a defect that waits for admission as well", () => {
    expect(setOf([unadmitted(1)], [defect(1, "duplicate_tag")]).verdict).toBe("alarm");
  });

  it("waits while people and checks are at work", () => {
    expect(setOf([inReview(7)]).verdict).toBe("waiting");
    expect(setOf([inReview(7), waitsFor(8, 7)]).verdict).toBe("waiting");
    expect(setOf([inReview(7, { attempts: 3 })]).verdict).toBe("waiting");
    expect(setOf([item({ attempts: 3, review: AGAIN })]).verdict).toBe("alarm");
  });

  it("is not alarm because an item is at home elsewhere", () => {
    expect(setOf([item()], [], "eu")).toMatchObject({ verdict: "waiting", ready: [], pending: 1 });
  });

  it("follows a chain of a thousand links", () => {
    const chain = Array.from({ length: 1000 }, (_, index) => waitsFor(index + 2, index + 1));
    expect(setOf([...chain, held(1)]).verdict).toBe("waiting");
    expect(setOf([...chain, waitsFor(1, 1001)]).verdict).toBe("alarm");
  });
});

describe("any backlog", () => {
  const backlog = fc.uniqueArray(anItem, { selector: ({ number }) => number, maxLength: 12 });
  const someDefects = fc.array(
    fc
      .tuple(
        fc.integer({ min: 1, max: 99 }),
        fc.constantFrom<DefectCode>("missing_tag", "marker_without_grant"),
      )
      .map(([number, code]) => defect(number, code)),
    { maxLength: 40 },
  );

  it("has every live enrolled item in exactly one list, and every other in none", () => {
    fc.assert(
      fc.property(backlog, someDefects, fc.option(fc.constantFrom(HOME, "eu")), (items, defects, region) => {
        const set = setOf(items, defects, region);
        const listed = [
          ...numbers(set.ready),
          ...numbers(set.overlapping),
          ...numbers(set.waiting),
          ...numbers(set.inFlight),
          ...set.awaitingAdmission,
        ];
        const live = items.filter((each) => each.enrolled && each.state === null);
        expect(listed.toSorted()).toEqual(numbers(live).toSorted());
        expect(set.pending).toBe(live.length);
        const isParked = items.filter((each) => each.enrolled && each.state === "parked");
        expect(set.parked.toSorted()).toEqual(numbers(isParked).toSorted());
        for (const each of set.waiting) expect(each.reasons).not.toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("has a verdict that fits the lists", () => {
    fc.assert(
      fc.property(backlog, someDefects, (items, defects) => {
        const set = setOf(items, defects);
        expect(set.verdict === "ready").toBe(set.ready.length > 0);
        // Who only waits for a resource is a candidate all the same.
        const candidates = set.waiting.filter(({ reasons }) =>
          reasons.every(({ reason }) => reason === "resource_unavailable"),
        );
        const isHeldUp = set.overlapping.length + candidates.length > 0;
        expect(set.verdict === "overlapping").toBe(set.ready.length === 0 && isHeldUp);
        expect(set.verdict === "idle").toBe(set.pending === 0);
        const inReview = set.waiting.some(({ reasons }) =>
          reasons.some(({ reason }) => reason === "in_review" || reason === "parked"),
        );
        const somethingMoves = set.inFlight.length + set.awaitingAdmission.length > 0 || inReview;
        if (set.verdict === "waiting") expect(somethingMoves).toBe(true);
        if (set.verdict === "alarm")
          expect(set.waiting.length + set.awaitingAdmission.length).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });
});
