/**
 * Every small state, held against little models that were written from the protocol's text and share nothing with the
 * rules: who may claim, what a grant means, who may renew, release and write under an epic's token.
 */

import { describe, expect, it } from "vitest";
import { decideItemClaim, decideRecordClaim } from "../../src/domain/claim-decision.ts";
import { admitsBelow } from "../../src/domain/fence.ts";
import { decideRelease, decideRenew } from "../../src/domain/lease.ts";
import { type ALONE, type ClaimFacts, type ItemFacts, reasonsAgainst } from "../../src/domain/why-not.ts";
import { at, blocker, claim, HOME, item, NOW, tagsWith } from "./facts.ts";

/** Every combination of one value for each name. */
function* product<T extends Readonly<Record<string, readonly unknown[]>>>(
  of: T,
): Generator<{ [Name in keyof T]: T[Name][number] }> {
  const names = Object.entries(of);
  const count = names.reduce((product, [, values]) => product * values.length, 1);
  for (let index = 0; index < count; index += 1) {
    let left = index;
    const one: Record<string, unknown> = {};
    for (const [name, values] of names) {
      one[name] = values[left % values.length];
      left = Math.floor(left / values.length);
    }
    yield one as { [Name in keyof T]: T[Name][number] };
  }
}

const EITHER = [false, true] as const;
const ME = { owner: "w/me", actor: "me", region: HOME };
const OTHERS = { owner: "w/other", actor: "other" };
/** The same name under another API token is another owner. */
const NAMESAKE = { owner: "w/me", actor: "other" };

type ClaimWord =
  | "none"
  | "released"
  | "held"
  | "held by me"
  | "lapsed"
  | "lapsed, mine"
  | "lapsed, a namesake's";
const CLAIMS: Readonly<Record<ClaimWord, ClaimFacts | null>> = {
  none: null,
  released: claim({ ...OTHERS, live: false }),
  held: claim(OTHERS),
  "held by me": claim(ME),
  lapsed: claim({ ...OTHERS, leaseExpiresAt: at(-60) }),
  "lapsed, mine": claim({ ...ME, leaseExpiresAt: at(-60) }),
  "lapsed, a namesake's": claim({ ...NAMESAKE, leaseExpiresAt: at(-60) }),
};

const USUAL = {
  enrolled: [true],
  state: [null],
  open: [true],
  home: ["here", "elsewhere", "not said"],
  admitted: EITHER,
  blocked: EITHER,
  epic: EITHER,
  subtree: EITHER,
  takeover: EITHER,
  moving: EITHER,
  poison: EITHER,
  claim: Object.keys(CLAIMS) as ClaimWord[],
  claimedAbove: [false],
  queuedAbove: [false],
  integrating: [false],
  fanOutOpen: [false],
  heldBelow: [false],
} as const;
/** Whatever the state is. */
const ANY_STATE = {
  ...USUAL,
  enrolled: EITHER,
  state: [null, "complete", "parked", "cancelled"],
  open: EITHER,
  takeover: [false],
  moving: [false],
} as const;
/** Whatever happens among the items around it. */
const ANY_PLACE = {
  ...USUAL,
  claimedAbove: EITHER,
  queuedAbove: EITHER,
  integrating: EITHER,
  fanOutOpen: EITHER,
  heldBelow: EITHER,
} as const;

type Case = typeof ANY_STATE extends infer T
  ? { [Name in keyof T]: T[Name] extends readonly (infer V)[] ? V : never }
  : never;
type AnyCase = { [Name in keyof Case]: Name extends keyof typeof ALONE ? boolean : Case[Name] };

const factsOf = (one: AnyCase): ItemFacts =>
  item({
    enrolled: one.enrolled,
    state: one.state,
    issueOpen: one.open,
    admitted: one.admitted,
    parts: one.epic ? 2 : 0,
    openParts: one.epic ? 2 : 0,
    blockers: one.blocked ? [blocker(3), blocker(4, "satisfied")] : [blocker(4, "satisfied")],
    attempts: one.poison ? 3 : 2,
    tags: tagsWith(
      "homeRegion:",
      ...{ here: [`homeRegion:${HOME}`], elsewhere: ["homeRegion:eu"], "not said": [] }[one.home],
    ),
    claim: CLAIMS[one.claim],
    activeAt: one.moving ? at(-1) : null,
    grouping: {
      claimedAbove: one.claimedAbove,
      queuedAbove: one.queuedAbove,
      integrating: one.integrating,
      fanOutOpen: one.fanOutOpen,
      heldBelow: one.heldBelow,
    },
  });

const isHeld = ({ claim }: AnyCase): boolean => claim.startsWith("held");
const lapsedForOthers = ({ claim }: AnyCase): boolean =>
  claim === "lapsed" || claim === "lapsed, a namesake's";

/** The table of reasons, the first that fits is told. */
const REFUSALS: readonly (readonly [reason: string, when: (one: AnyCase) => boolean])[] = [
  ["missing", (one) => !one.enrolled],
  ["complete", (one) => one.state === "complete"],
  ["parked", (one) => one.state === "parked"],
  ["closed", (one) => one.state === "cancelled" || !one.open],
  ["foreign_region", (one) => one.home === "elsewhere"],
  ["grouping", (one) => one.epic && !one.subtree],
  ["not_admitted", (one) => !one.admitted],
  ["blocked", (one) => one.blocked],
  ["contended", isHeld],
  ["poison", (one) => one.poison],
  ["ancestor_claimed", (one) => one.claimedAbove],
  ["contended", (one) => one.queuedAbove],
  ["not_quiesced", (one) => one.integrating || one.fanOutOpen],
  ["contended", (one) => one.subtree && one.heldBelow],
  ["quarantined", (one) => one.moving && lapsedForOthers(one) && !one.takeover],
];
const expectedReason = (one: AnyCase): string | null => REFUSALS.find(([, when]) => when(one))?.[0] ?? null;

/** What cannot come up while the items around it, or the item itself, are as usual. */
const AROUND = ["ancestor_claimed", "not_quiesced", "quarantined"];
const OWN_STATE = ["missing", "complete", "parked", "closed"];

describe("whether an item may be claimed", () => {
  it.each([
    ["whatever its state", ANY_STATE, AROUND],
    ["whatever happens around it", ANY_PLACE, OWN_STATE],
  ] as const)("%s, the first reason is the table's", (_, of, impossible) => {
    const met = new Set<string | null>();
    for (const one of product(of) as Generator<AnyCase>) {
      const { owner, actor, region } = ME;
      const scope = one.subtree ? "subtree" : "item";
      const claimant = { owner, actor, scope, takeover: one.takeover } as const;
      const [first] = reasonsAgainst(factsOf(one), { now: NOW, region, claimant });
      const reason = first?.reason ?? null;
      met.add(reason);
      const wanted = expectedReason(one);
      // Only what differs is put into words: there are a hundred thousand cases.
      if (reason !== wanted) expect({ ...one, reason }).toEqual({ ...one, reason: wanted });
    }
    const possible = REFUSALS.map(([reason]) => reason).filter(
      (reason) => !impossible.some((one) => one === reason),
    );
    expect(met).toEqual(new Set([null, ...possible]));
  });

  it("a claim that names another region than this one is refused, whatever the item is", () => {
    for (const one of product(ANY_STATE) as Generator<AnyCase>) {
      const decision = decideItemClaim(factsOf(one), { ...ME, region: "eu" }, HOME, NOW);
      if (decision.granted || decision.reason !== "foreign_region")
        expect({ ...one, decision }).toBe("foreign_region");
    }
  });
});

describe("what a grant means", () => {
  /** The first time in an attempt that the same owner takes its own lapsed claim again, it goes on; else it is new. */
  it.each(
    [
      ...product({
        word: Object.keys(CLAIMS) as ClaimWord[],
        reclaims: [0, 1, 2],
        isItem: EITHER,
        exists: EITHER,
      }),
    ].map((one) => [JSON.stringify(one), one] as const),
  )("%s", (_, { word, reclaims, isItem, exists }) => {
    const before = CLAIMS[word] && { ...CLAIMS[word], reclaims };
    const decision = isItem
      ? decideItemClaim(exists ? item({ claim: before }) : null, ME, HOME, NOW)
      : decideRecordClaim({ exists, claim: before }, ME, HOME, NOW);
    if (!exists) return expect(decision).toMatchObject({ granted: false, reason: "missing" });
    if (word.startsWith("held"))
      return expect(decision).toMatchObject({ granted: false, reason: "contended", retryAfterMs: 60_000 });
    expect(decision).toEqual({
      granted: true,
      newAttempt: !(word === "lapsed, mine" && reclaims === 0),
      previous: before && { owner: before.owner, fence: 41, lapsed: word.startsWith("lapsed") },
    });
  });
});

describe("every token up to four on every claim up to three", () => {
  const CASES = [
    ...product({ fence: [1, 2, 3], token: [0, 1, 2, 3, 4], live: EITHER, lapsed: EITHER, mine: EITHER }),
  ];

  it("is renewed only by its actor, at the mark, while it is live and runs", () => {
    for (const { fence, token, live, lapsed, mine } of CASES) {
      const view = { fence, live, actor: mine ? "me" : "other", leaseExpiresAt: at(lapsed ? -1 : 1) };
      const current = token === fence && live;
      const wanted = !current ? "superseded" : !mine ? "not_holder" : lapsed ? "superseded" : "renew";
      expect([view, token, decideRenew(view, token, "me", NOW)]).toEqual([view, token, wanted]);
    }
    expect(decideRenew(null, 1, "me", NOW)).toBe("superseded");
  });

  it("is released only by its actor, at the mark, while it is live, lapsed or not", () => {
    for (const { fence, token, live, lapsed, mine } of CASES) {
      const view = { fence, live, actor: mine ? "me" : "other", leaseExpiresAt: at(lapsed ? -1 : 1) };
      const wanted = token !== fence ? "stale" : !live ? "unclaimed" : mine ? "release" : "not_holder";
      expect([view, token, decideRelease(view, token, "me")]).toEqual([view, token, wanted]);
    }
    expect(decideRelease(null, 1, "me")).toBe("unclaimed");
  });
});

it("an epic's token writes below only for its holder, here, while it is live, and not below the record's own mark", () => {
  const cases = product({
    epicMark: [1, 2, 3],
    epicLive: EITHER,
    mine: EITHER,
    here: EITHER,
    token: [null, 0, 1, 2, 3, 4],
    recordMark: [null, 1, 2, 3, 4],
    recordLive: EITHER,
  });
  for (const { epicMark, epicLive, mine, here, token, recordMark, recordLive } of cases) {
    const epic = { mark: epicMark, live: epicLive, region: here ? HOME : "eu", actor: mine ? "me" : "other" };
    const own =
      recordMark === null ? null : { mark: recordMark, live: recordLive, region: "eu", actor: "somebody" };
    const wanted =
      epicLive && mine && here && token === epicMark && (recordMark === null || recordMark <= epicMark);
    const said = admitsBelow(epic, own, { token, region: HOME, actor: "me" });
    expect({ epic, own, token, said }).toEqual({ epic, own, token, said: wanted });
  }
});
