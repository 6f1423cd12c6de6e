import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isGrouping } from "../../src/domain/grouping.ts";
import { type ItemFacts, type Reason, reasonsAgainst } from "../../src/domain/why-not.ts";
import { anItem, at, blocker, claim, HELD, HOME, item, LAPSED, NOW, RELEASED, tagsWith } from "./facts.ts";

const against = (facts: ItemFacts, region: string | null = HOME) =>
  reasonsAgainst(facts, { now: NOW, region });

const EPIC = tagsWith("baseBranch:", "baseBranch:feat/epic/login");
const IN_REVIEW = { review: "in_review", pull: 12, waits: "checks" } as const;

describe("reasonsAgainst", () => {
  it.each<[string, Partial<ItemFacts>, Reason[]]>([
    ["nothing", {}, []],
    ["no longer enrolled: it is no item", { enrolled: false }, [{ reason: "missing" }]],
    ["complete", { state: "complete" }, [{ reason: "complete" }]],
    [
      "parked: who must rule, and on what",
      { state: "parked", rulingOwner: "@lead", question: "Which API?" },
      [{ reason: "parked", rulingOwner: "@lead", question: "Which API?" }],
    ],
    ["cancelled", { state: "cancelled" }, [{ reason: "closed" }]],
    ["live, but its issue was closed by an agent", { issueOpen: false }, [{ reason: "closed" }]],
    ["at home elsewhere", { tags: tagsWith("homeRegion:", "homeRegion:eu") }, [{ reason: "foreign_region" }]],
    ["a native parent whose parts have all ended: an ordinary item", { parts: 2 }, []],
    ["an epic whose parts have all ended, with a branch", { parts: 2, tags: EPIC }, [{ reason: "grouping" }]],
    [
      "an epic whose parts have all ended, to be integrated",
      { parts: 2, integrated: true },
      [{ reason: "grouping" }],
    ],
    ["an item that lost its parts, with a branch of an epic", { tags: EPIC }, []],
    ["a grouping", { parts: 1, openParts: 1 }, [{ reason: "grouping" }]],
    ["not admitted", { admitted: false }, [{ reason: "not_admitted" }]],
    ["a blocker that is not complete", { blockers: [blocker(3)] }, [{ reason: "blocked", on: [3] }]],
    ["a blocker that is complete", { blockers: [blocker(3, "satisfied")] }, []],
    [
      "several blockers: those that are left",
      { blockers: [blocker(3), blocker(4, "satisfied"), blocker(5, "missing"), blocker(6, "invalid")] },
      [{ reason: "blocked", on: [3, 5, 6] }],
    ],
    [
      "a blocker elsewhere that cannot be seen",
      { blockers: [blocker(null, "unknown")] },
      [
        {
          reason: "blocked",
          on: [],
          detail:
            "repo/o/other/mem/backlog/issue-9 blocks: Leasehold is not installed there and cannot see its state; install " +
            "it there, or mark it as a blocker on GitHub, whose list Leasehold reads",
        },
      ],
    ],
    [
      "a parked blocker: who must rule, and on what",
      { blockers: [blocker(2), blocker(3, "stalled", { rulingOwner: "@lead", question: "Which API?" })] },
      [{ reason: "blocked", on: [2, 3], rulingOwner: "@lead", question: "Which API?" }],
    ],
    ["one attempt under the threshold", { attempts: 2 }, []],
    ["at the threshold", { attempts: 3 }, [{ reason: "poison" }]],
    ["over the threshold", { attempts: 4 }, [{ reason: "poison" }]],
    ["at the threshold, the last attempt lapsed", { attempts: 3, claim: LAPSED }, [{ reason: "poison" }]],
    ["the third attempt runs to its end", { attempts: 3, claim: HELD }, [{ reason: "contended" }]],
    [
      "in review: nobody's turn, whoever asks",
      { review: { review: "in_review", pull: 12, waits: "reviewers" } },
      [{ reason: "in_review", detail: "pull request #12 waits for the reviewers that were asked" }],
    ],
    ["in review, but its holder works on", { review: IN_REVIEW, claim: HELD }, [{ reason: "contended" }]],
    ["its pull request can be merged now", { review: { review: "resumable", pull: 12, waits: null } }, []],
    ["its pull request needs a worker", { review: { review: "again", pull: 12, waits: null } }, []],
    ["held", { claim: HELD }, [{ reason: "contended" }]],
    ["lapsed", { claim: LAPSED }, []],
    ["at the exact end of the lease", { claim: claim({ leaseExpiresAt: NOW }) }, []],
    ["a millisecond before it", { claim: claim({ leaseExpiresAt: at(0.001) }) }, [{ reason: "contended" }]],
    ["released", { claim: RELEASED }, []],
  ])("%s", (_, facts, reasons) => expect(against(item(facts))).toEqual(reasons));

  it("asks for the region only of those who name one", () => {
    const abroad = item({ tags: tagsWith("homeRegion:", "homeRegion:eu") });
    expect(against(abroad, null)).toEqual([]);
    expect(against(abroad, "eu")).toEqual([]);
    expect(against(abroad, "us")).toEqual([{ reason: "foreign_region" }]);
  });

  it("tells every reason at once, the one that waiting would cure last", () => {
    const hopeless = item({
      tags: tagsWith("homeRegion:", "homeRegion:eu"),
      parts: 2,
      openParts: 1,
      admitted: false,
      blockers: [blocker(3)],
      claim: HELD,
    });
    expect(against(hopeless).map(({ reason }) => reason)).toEqual([
      "foreign_region",
      "grouping",
      "not_admitted",
      "blocked",
      "contended",
    ]);
  });

  it.each<[string, ItemFacts["state"], string]>([
    ["complete", "complete", "complete"],
    ["parked", "parked", "parked"],
    ["cancelled", "cancelled", "closed"],
  ])("says of a %s item only that, whatever else is true", (_, state, reason) => {
    fc.assert(
      fc.property(anItem, (facts) => {
        const reasons = against({ ...facts, enrolled: true, state });
        expect(reasons.map((each) => each.reason)).toEqual([reason]);
      }),
    );
  });

  it("names `contended` first only when nothing else speaks against the item: only that one waits", () => {
    fc.assert(
      fc.property(anItem, (facts) => {
        const reasons = against(facts).map(({ reason }) => reason);
        if (reasons[0] === "contended") expect(reasons).toEqual(["contended"]);
      }),
      { numRuns: 1000 },
    );
  });

  it("offers nothing that section 6 excludes", () => {
    fc.assert(
      fc.property(anItem, (facts) => {
        if (against(facts, null).length > 0) return;
        expect(facts).toMatchObject({
          enrolled: true,
          admitted: true,
          state: null,
          issueOpen: true,
        });
        expect(isGrouping(facts)).toBe(false);
        expect(facts.review?.review).not.toBe("in_review");
        expect(facts.hold).toBeNull();
        expect(facts.blockers.every(({ status }) => status === "satisfied")).toBe(true);
        expect(facts.attempts).toBeLessThan(facts.threshold);
        expect(facts.claim?.live === true && facts.claim.leaseExpiresAt > NOW).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });
});
