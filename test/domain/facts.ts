/** Builders of the facts that the rules ask about: a claimable item, and what a test changes about it. */

import fc from "fast-check";
import type { Blocker, BlockerStatus } from "../../src/domain/blockers.ts";
import type { GroupingShape } from "../../src/domain/grouping-defects.ts";
import { ALONE, type ClaimFacts, type ItemFacts } from "../../src/domain/why-not.ts";

export const NOW = new Date("2026-09-06T12:00:00.000Z");
export const HOME = "local";

/** A time this many seconds after NOW; negative: before. */
export const at = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1000);

export const TAGS: readonly string[] = [
  "backlog",
  "priority:P2",
  "phase:implementation",
  `homeRegion:${HOME}`,
  "baseBranch:main",
];

/** The usual tags with every tag of this prefix replaced by the given ones. */
export const tagsWith = (prefix: string, ...tags: string[]): string[] => [
  ...TAGS.filter((tag) => !tag.startsWith(prefix)),
  ...tags,
];

/** An item that nothing speaks against. */
export const item = (facts: Partial<ItemFacts> = {}): ItemFacts => ({
  number: 7,
  enrolled: true,
  admitted: true,
  state: null,
  issueOpen: true,
  tags: TAGS,
  createdAt: at(-86_400),
  parts: 0,
  openParts: 0,
  integrated: false,
  blockers: [],
  attempts: 0,
  threshold: 3,
  claim: null,
  rulingOwner: null,
  question: null,
  grouping: ALONE,
  activeAt: null,
  quarantineSeconds: 900,
  hold: null,
  startedAbove: false,
  radius: [],
  review: null,
  parkAsked: null,
  takenResources: [],
  ...facts,
});

/** An item of no grouping. */
export const LONER: GroupingShape = {
  integratedBy: [],
  hasDiagram: false,
  parentBranches: [],
  isPart: false,
  integrates: false,
  unawaited: [],
  defaultBranch: "main",
};

/** A live claim of `worker/a` with a minute left. */
export const claim = (facts: Partial<ClaimFacts> = {}): ClaimFacts => ({
  fence: 41,
  live: true,
  owner: "worker/a",
  actor: "actor-a",
  region: HOME,
  leaseExpiresAt: at(60),
  reclaims: 0,
  ...facts,
});

export const HELD = claim();
export const LAPSED = claim({ leaseExpiresAt: at(-1) });
export const RELEASED = claim({ live: false });

export const blocker = (
  number: number | null,
  status: BlockerStatus = "waiting",
  ruling: Partial<Pick<Blocker, "rulingOwner" | "question" | "stall">> = {},
): Blocker => ({
  number,
  target: number === null ? "repo/o/other/mem/backlog/issue-9" : `mem/backlog/issue-${number}`,
  status,
  stall: status === "stalled" ? "parked" : null,
  rulingOwner: null,
  question: null,
  ...ruling,
});

export const aClaim: fc.Arbitrary<ClaimFacts> = fc.record({
  fence: fc.integer({ min: 1, max: 9 }),
  live: fc.boolean(),
  owner: fc.constantFrom("worker/a", "worker/b"),
  actor: fc.constantFrom("actor-a", "actor-b"),
  region: fc.constantFrom(HOME, "eu"),
  leaseExpiresAt: fc.constantFrom(at(-60), at(-0.001), NOW, at(0.001), at(60)),
  reclaims: fc.integer({ min: 0, max: 2 }),
});

const aBlocker: fc.Arbitrary<Blocker> = fc
  .tuple(
    fc.option(fc.integer({ min: 1, max: 8 }), { freq: 5 }),
    fc.constantFrom<BlockerStatus>("satisfied", "waiting", "stalled", "missing", "invalid", "unknown"),
  )
  .map(([number, status]) => blocker(number, status));

const someTags: fc.Arbitrary<readonly string[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(TAGS) },
  fc.constantFrom(
    tagsWith("homeRegion:", "homeRegion:eu"),
    tagsWith("homeRegion:"),
    tagsWith("priority:", "priority:P0"),
    tagsWith("priority:", "priority:P0", "priority:P1"),
  ),
);

/** So that one item in ten is claimable, and properties about those are not about nothing. */
const mostly = fc.constantFrom(true, true, true, true, false);

/** Any item, in any state, sensible or not. */
export const anItem: fc.Arbitrary<ItemFacts> = fc.record({
  number: fc.integer({ min: 1, max: 99 }),
  enrolled: mostly,
  admitted: mostly,
  state: fc.constantFrom(null, null, null, null, null, "complete", "parked", "cancelled"),
  issueOpen: mostly,
  tags: someTags,
  createdAt: fc.constantFrom(at(-3), at(-2), at(-1)),
  parts: fc.constantFrom(0, 0, 2),
  openParts: fc.constantFrom(0, 1),
  integrated: fc.constantFrom(false, false, true),
  blockers: fc.oneof(fc.constant([]), fc.array(aBlocker, { maxLength: 3 })),
  attempts: fc.integer({ min: 0, max: 4 }),
  threshold: fc.integer({ min: 1, max: 4 }),
  claim: fc.option(aClaim),
  rulingOwner: fc.constant(null),
  question: fc.constant(null),
  grouping: fc.constant(ALONE),
  activeAt: fc.constant(null),
  quarantineSeconds: fc.constant(900),
  hold: fc.constantFrom(null, null, null, null, { by: "orchestrator", at: at(-60), note: null }),
  startedAbove: fc.boolean(),
  parkAsked: fc.constantFrom(null, null, null, null, { by: "alice", at: at(-60) }),
  takenResources: fc.constantFrom<readonly string[]>([], [], [], [], ["staging"]),
  radius: fc.array(fc.constantFrom("src", "src/a.ts", "src/b.ts", "docs/*.md"), { maxLength: 2 }),
  review: fc.constantFrom(
    null,
    null,
    null,
    { review: "in_review", pull: 12, waits: "checks" },
    { review: "resumable", pull: 12, waits: null },
    { review: "again", pull: 12, waits: null },
  ),
});
