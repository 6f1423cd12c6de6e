import { describe, expect, it } from "vitest";
import {
  type AskedGrouping,
  type AskedItem,
  type GroupingFacts,
  planGrouping,
} from "../../src/domain/grouping-plan.ts";
import { blocker } from "./facts.ts";

const item = (ref: string, over: Partial<AskedItem> = {}): AskedItem => ({
  ref,
  title: ref,
  body: "",
  phase: "implementation",
  priority: null,
  blockedBy: [],
  anchoredTo: [],
  resources: [],
  ...over,
});
const end = item("end", { phase: "integration" });
const grouping = (items: readonly AskedItem[], epic: Partial<AskedGrouping["epic"]> = {}): AskedGrouping => ({
  epic: { title: "Pipes", body: "", type: "feat", slug: "pipes", parent: null, ...epic },
  items,
});
const facts = (over: Partial<GroupingFacts> = {}): GroupingFacts => ({
  blockers: new Map(),
  parent: null,
  ...over,
});
const parent = { state: null, phase: "implementation", ancestors: [2], integrates: false } as const;
const on = (...blockedBy: string[]) => ({ blockedBy });
const ask = [item("a", { phase: "research" }), end];

describe("planGrouping (section 7)", () => {
  it("lets the integration wait for the whole fan-out, and keeps what was asked", () => {
    const verdict = planGrouping(
      grouping([
        item("seam"),
        item("a", on("seam", "#12")),
        item("b", on("seam")),
        item("end", { phase: "integration", ...on("b") }),
      ]),
      facts({ blockers: new Map([[12, blocker(12, "waiting")]]) }),
    );
    expect(verdict).toMatchObject({
      ok: true,
      plan: { branch: "feat/epic/pipes", epicPhase: "implementation", integration: "end" },
    });
    if (!verdict.ok) return;
    expect([...verdict.plan.dag]).toEqual([
      ["seam", []],
      ["a", ["seam"]],
      ["b", ["seam"]],
      ["end", ["b", "seam", "a"]],
    ]);
    expect(verdict.plan.items.map(({ waitsFor }) => waitsFor)).toEqual([[], [12], [], []]);
  });

  it("takes a grouping of research alone for a research grouping", () => {
    expect(planGrouping(grouping(ask), facts())).toMatchObject({ plan: { epicPhase: "research" } });
  });

  it.each<[string, AskedGrouping, Partial<GroupingFacts>, string, string, RegExp]>([
    [
      "no integration item",
      grouping([item("a")]),
      {},
      "validation_failed",
      "items",
      /needs one item with the phase integration/,
    ],
    [
      "two of them",
      grouping([item("a"), end, item("fin", { phase: "integration" })]),
      {},
      "validation_failed",
      "items",
      /end, fin/,
    ],
    ["nothing to integrate", grouping([end]), {}, "validation_failed", "items", /nothing to integrate/],
    [
      "a ref twice",
      grouping([item("a"), item("a"), end]),
      {},
      "validation_failed",
      "items.1.ref",
      /another item/,
    ],
    [
      "a ref that is none",
      grouping([item("a", on("b")), end]),
      {},
      "validation_failed",
      "items.0.blockedBy",
      /#12/,
    ],
    ["a cycle", grouping([item("a", on("b")), item("b", on("a")), end]), {}, "cycle", "items", /a → b → a/],
    ["one that waits for itself", grouping([item("a", on("a")), end]), {}, "cycle", "items", /a → a/],
    [
      "one that waits for the integration",
      grouping([item("a", on("end")), end]),
      {},
      "cycle",
      "items",
      /a → end → a/,
    ],
    [
      "a type that is none",
      grouping([item("a"), end], { type: "Feat" }),
      {},
      "validation_failed",
      "epic.type",
      /lower-case/,
    ],
    [
      "a slug with two dots",
      grouping([item("a"), end], { slug: "a..b" }),
      {},
      "validation_failed",
      "epic.slug",
      /\.\./,
    ],
    [
      "a slug that git refuses",
      grouping([item("a"), end], { slug: "a.lock" }),
      {},
      "validation_failed",
      "epic.slug",
      /\.lock/,
    ],
    [
      "an item's branch for a slug",
      grouping([item("a"), end], { slug: "a-issue-7" }),
      {},
      "validation_failed",
      "epic.slug",
      /issue/,
    ],
    [
      "a slash in the slug",
      grouping([item("a"), end], { slug: "a/b" }),
      {},
      "validation_failed",
      "epic.slug",
      /letters/,
    ],
    [
      "a blocker that is not there",
      grouping([item("a", on("#12")), end]),
      {},
      "edge_refused",
      "items.0.blockedBy",
      /#12 does not exist/,
    ],
    [
      "a blocker that is parked",
      grouping([item("a", on("#12")), end]),
      { blockers: new Map([[12, blocker(12, "stalled")]]) },
      "edge_refused",
      "items.0.blockedBy",
      /#12 is parked/,
    ],
    [
      "a parent that is not there",
      grouping([item("a"), end], { parent: 3 }),
      {},
      "edge_refused",
      "epic.parent",
      /#3 is no item/,
    ],
    [
      "research within another grouping",
      grouping(ask, { parent: 3 }),
      { parent },
      "edge_refused",
      "epic.parent",
      /research is a leaf/,
    ],
    [
      "a parent that is complete",
      grouping([item("a"), end], { parent: 3 }),
      { parent: { ...parent, state: "complete" } },
      "edge_refused",
      "epic.parent",
      /complete/,
    ],
    [
      "a parent that is research within a grouping",
      grouping([item("a"), end], { parent: 3 }),
      { parent: { ...parent, phase: "research" } },
      "edge_refused",
      "epic.parent",
      /leaf/,
    ],
    [
      "a parent that is an integration item",
      grouping([item("a"), end], { parent: 3 }),
      { parent: { ...parent, integrates: true } },
      "edge_refused",
      "epic.parent",
      /integration item/,
    ],
    [
      "one that waits for the parent",
      grouping([item("a", on("#3")), end], { parent: 3 }),
      { parent },
      "cycle",
      "items.0.blockedBy",
      /#3/,
    ],
    [
      "one that waits for what is above",
      grouping([item("a", on("#2")), end], { parent: 3 }),
      { parent },
      "cycle",
      "items.0.blockedBy",
      /#2/,
    ],
  ])("refuses %s", (_, asked, known, code, field, message) => {
    const verdict = planGrouping(asked, facts(known));
    if (verdict.ok) throw new Error("it was planned");
    expect(verdict.errors).toHaveLength(1);
    expect(verdict.errors[0]).toMatchObject({ code, field });
    expect(verdict.errors[0]?.message).toMatch(message);
  });

  it("tells of everything that is wrong", () => {
    const verdict = planGrouping(grouping([item("a", on("b"))], { slug: "-", type: "1" }), facts());
    expect(verdict.ok ? [] : verdict.errors.map(({ field }) => field)).toEqual([
      "epic.type",
      "epic.slug",
      "items",
      "items.0.blockedBy",
    ]);
  });

  it("does not judge again what was accepted before", () => {
    expect(planGrouping(grouping([item("a", on("#12")), end], { parent: 3 }), null).ok).toBe(true);
  });
});
