import { describe, expect, it } from "vitest";
import type { CheckSuiteFacts } from "../../src/domain/pull-checks.ts";
import {
  changesRequested,
  nextReading,
  type PullFacts,
  type ReviewFacts,
  reviewOf,
} from "../../src/domain/review.ts";
import { at, NOW } from "./facts.ts";

const HEAD = "a".repeat(40);

const suite = (
  conclusion: string | null,
  status = conclusion ? "completed" : "in_progress",
): CheckSuiteFacts => ({
  status,
  conclusion,
  runs: 1,
});

type Read = NonNullable<PullFacts["read"]>;
const read = (facts: Partial<Read> = {}): Read => ({
  at: at(-60),
  head: HEAD,
  base: "main",
  mergeable: true,
  state: "clean",
  tries: 0,
  ...facts,
});

/** Open, green, and can be merged now. */
const pull = (facts: Partial<PullFacts> = {}): PullFacts => ({
  number: 12,
  draft: false,
  headSha: HEAD,
  baseRef: "main",
  headAt: at(-3600),
  checks: [suite("success")],
  reviews: [],
  asked: [],
  read: read(),
  movedAt: null,
  claimCheck: "success",
  ...facts,
});

const verdict = (state: string, facts: Partial<ReviewFacts> = {}): ReviewFacts => ({
  id: 1,
  reviewer: "tess",
  reviewerType: "User",
  association: "MEMBER",
  state,
  submittedAt: at(-100),
  ...facts,
});
const CHANGES = [verdict("changes_requested")];

describe("one pull request", () => {
  it.each<[string, Partial<PullFacts>, string]>([
    ["green, and can be merged now", {}, "resumable"],
    ["approved", { reviews: [verdict("approved")] }, "resumable"],
    ["checked by nobody for a minute", { checks: [] }, "resumable"],
    ["can be merged with hooks", { read: read({ state: "has_hooks" }) }, "resumable"],
    [
      "whose head is a moment old, and no check was heard of",
      { checks: [], headAt: at(-59) },
      "in_review checks",
    ],
    ["with a check that runs", { checks: [suite("success"), suite(null)] }, "in_review checks"],
    ["with runs that wait for a machine", { checks: [suite(null, "queued")] }, "in_review checks"],
    ["whose reviewer has not answered", { asked: ["tess"] }, "in_review reviewers"],
    ["never read", { read: null }, "in_review mergeability"],
    ["GitHub is still working out", { read: read({ mergeable: null }) }, "in_review mergeability"],
    ["read of another head", { read: read({ head: "b".repeat(40) }) }, "in_review mergeability"],
    ["read of another base", { read: read({ base: "dev", mergeable: false }) }, "in_review mergeability"],
    ["blocked by rules", { read: read({ state: "blocked" }) }, "in_review rules"],
    [
      "blocked, and our own check says no",
      { read: read({ state: "blocked" }), claimCheck: "failure" },
      "again",
    ],
    [
      "blocked, and our own check is not there yet",
      { read: read({ state: "blocked" }), claimCheck: null },
      "in_review rules",
    ],
    ["with a status that is not green", { read: read({ state: "unstable" }) }, "in_review checks"],
    [
      "unstable by our own check alone",
      { read: read({ state: "unstable" }), claimCheck: "failure" },
      "resumable",
    ],
    ["behind its base", { read: read({ state: "behind" }) }, "again"],
    [
      "behind its base, but a reviewer is busy",
      { read: read({ state: "behind" }), asked: ["tess"] },
      "in_review reviewers",
    ],
    ["a draft", { draft: true }, "again"],
    ["a draft with checks that run", { draft: true, checks: [suite(null)] }, "again"],
    ["red", { checks: [suite("failure")] }, "again"],
    [
      "red, whatever else runs or is asked",
      { checks: [suite("failure"), suite(null)], asked: ["tess"] },
      "again",
    ],
    ["in conflict", { read: read({ mergeable: false, state: "dirty" }) }, "again"],
    ["in conflict, whoever is asked", { read: read({ mergeable: false }), asked: ["tess"] }, "again"],
    ["of which changes are requested", { reviews: CHANGES }, "again"],
    [
      "of which changes are requested, while checks run",
      { reviews: CHANGES, checks: [suite(null)] },
      "again",
    ],
    ["whose critic is asked once more", { reviews: CHANGES, asked: ["tess"] }, "in_review reviewers"],
  ])("%s", (_, facts, wanted) => {
    const found = reviewOf([pull(facts)], NOW);
    expect([found?.review, found?.waits].filter(Boolean).join(" ")).toBe(wanted);
    expect(found?.pull).toBe(12);
  });

  it("that is closed is none", () => expect(reviewOf([], NOW)).toBeNull());
});

describe("several pull requests of one item", () => {
  const resumable = pull({ number: 1 });
  const waiting = pull({ number: 2, asked: ["tess"] });
  const draft = pull({ number: 3, draft: true });
  it.each<[string, PullFacts[], string, number]>([
    ["one that can be merged wins", [draft, waiting, resumable], "resumable", 1],
    ["one that waits for people keeps workers away from another draft", [draft, waiting], "in_review", 2],
    ["drafts alone are ready again", [draft, pull({ number: 4, draft: true })], "again", 3],
  ])("%s", (_, pulls, wanted, number) =>
    expect(reviewOf(pulls, NOW)).toMatchObject({ review: wanted, pull: number }),
  );
});

describe("changesRequested", () => {
  it.each<[string, ReviewFacts[], string[], boolean]>([
    ["nobody reviewed", [], [], false],
    ["requested", CHANGES, [], true],
    ["approved later", [...CHANGES, verdict("approved", { id: 2, submittedAt: at(-50) })], [], false],
    [
      "approved earlier, listed last",
      [...CHANGES, verdict("approved", { id: 2, submittedAt: at(-500) })],
      [],
      true,
    ],
    ["within one second the newer id counts", [verdict("approved", { id: 2 }), ...CHANGES], [], false],
    ["commented later", [...CHANGES, verdict("commented", { id: 2, submittedAt: at(-50) })], [], true],
    ["dismissed", [verdict("dismissed")], [], false],
    ["another approves", [...CHANGES, verdict("approved", { id: 2, reviewer: "alice" })], [], true],
    ["asked once more", CHANGES, ["tess"], false],
    ["another is asked", CHANGES, ["alice"], true],
    ["by a passer-by", [verdict("changes_requested", { association: "NONE" })], [], false],
    ["by a contributor of once", [verdict("changes_requested", { association: "CONTRIBUTOR" })], [], false],
    ["by a bot", [verdict("changes_requested", { reviewerType: "Bot", association: "NONE" })], [], true],
    ["by a ghost", [verdict("changes_requested", { reviewer: null })], [], true],
    [
      "the same login in other letters",
      [...CHANGES, verdict("approved", { id: 2, reviewer: "Tess", submittedAt: at(-1) })],
      [],
      false,
    ],
  ])("%s", (_, reviews, asked, wanted) => expect(changesRequested({ reviews, asked })).toBe(wanted));
});

describe("nextReading", () => {
  it.each<[string, Partial<PullFacts>, number | null]>([
    ["settled", {}, null],
    ["never read", { read: null }, 0],
    ["another head", { headSha: "b".repeat(40) }, 0],
    ["another base", { baseRef: "dev" }, 0],
    ["a draft", { draft: true, read: null }, null],
    ["GitHub was working it out", { read: read({ at: NOW, mergeable: null, tries: 1 }) }, 2],
    ["GitHub works it out for long", { read: read({ at: NOW, mergeable: null, tries: 30 }) }, 600],
    ["its base moved since", { read: read({ at: at(-10) }), movedAt: at(-5) }, 80],
    ["its base moved long ago", { read: read({ at: at(-500) }), movedAt: at(-400) }, 0],
    ["its base moved before it was read", { read: read({ at: at(-10) }), movedAt: at(-20) }, null],
    ["rules block it", { read: read({ at: at(-100), state: "blocked" }) }, 500],
    ["a check runs", { read: read({ at: at(-100) }), checks: [suite(null)] }, 500],
    ["no check was heard of yet", { read: read({ at: at(-10) }), checks: [], headAt: at(-10) }, 50],
    ["the sooner of two", { read: read({ at: at(-10), state: "blocked" }), movedAt: at(-5) }, 80],
  ])("%s", (_, facts, seconds) =>
    expect(nextReading(pull(facts), NOW, 90_000)).toEqual(seconds === null ? null : at(seconds)),
  );
});
