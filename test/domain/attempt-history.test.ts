/** Which grants and markers count, and why: the sum is what the count of attempts says. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FenceFacts, judgeAttempt } from "../../src/domain/attempt-history.ts";
import { countAttempts } from "../../src/domain/attempts.ts";

const grant = (newAttempt: boolean, undelivered = false) => ({ newAttempt, undelivered });

describe("a fencing token", () => {
  it.each<[string, FenceFacts, number, boolean, string]>([
    ["of a new attempt", { fence: 5, grant: grant(true), marked: false }, 0, true, "grant"],
    ["of a new attempt that is marked", { fence: 5, grant: grant(true), marked: true }, 0, true, "grant"],
    ["before an unpark", { fence: 5, grant: grant(true), marked: true }, 5, false, "before_unpark"],
    ["after an unpark", { fence: 6, grant: grant(true), marked: false }, 5, true, "grant"],
    ["of a reclaim", { fence: 5, grant: grant(false), marked: false }, 0, false, "custody_unchanged"],
    ["that was taken back", { fence: 5, grant: grant(false, true), marked: false }, 0, false, "undelivered"],
    ["that was taken back too late", { fence: 5, grant: grant(true, true), marked: true }, 0, true, "grant"],
    ["of a reclaim that is marked", { fence: 5, grant: grant(false), marked: true }, 0, true, "marker"],
    [
      "that a marker alone tells of",
      { fence: 5, grant: null, marked: true },
      0,
      true,
      "marker_without_grant",
    ],
  ])("%s", (_, facts, after, counts, reason) => {
    expect(judgeAttempt(facts, after)).toMatchObject({ counts, reason, why: expect.stringMatching(/\S/) });
  });

  it("counts exactly where the count of attempts counts it", () => {
    const facts = fc.record({
      fence: fc.integer({ min: 1, max: 30 }),
      grant: fc.option(fc.record({ newAttempt: fc.boolean(), undelivered: fc.boolean() })),
      marked: fc.boolean(),
    });
    const all = fc.uniqueArray(
      facts.filter(({ grant: made, marked }) => made !== null || marked),
      { selector: ({ fence }) => fence },
    );
    fc.assert(
      fc.property(all, fc.nat(30), (rows, after) => {
        const above = rows.filter(({ fence }) => fence > after);
        const { count } = countAttempts({
          grants: above.filter(({ grant: made }) => made?.newAttempt).map(({ fence }) => fence),
          markers: above.filter(({ marked }) => marked).map(({ fence }) => fence),
          unposted: [],
        });
        expect(rows.filter((row) => judgeAttempt(row, after).counts)).toHaveLength(count);
      }),
    );
  });
});
