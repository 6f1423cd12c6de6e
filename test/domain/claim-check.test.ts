import { describe, expect, it } from "vitest";
import { type CheckedItem, claimCheck } from "../../src/domain/claim-check.ts";

const HEAD = "0123456789abcdef0123456789abcdef01234567";

const item = (facts: Partial<CheckedItem> = {}): CheckedItem => ({
  number: 7,
  admitted: true,
  parked: false,
  mark: 41,
  marksAbove: [],
  recorded: { sha: HEAD, fence: 41 },
  ...facts,
});
const OTHER = { sha: "f".repeat(40), fence: 41 };

describe("claimCheck", () => {
  it.each<[string, Partial<CheckedItem>, string]>([
    ["recorded under the latest claim", {}, "recorded"],
    ["recorded in short", { recorded: { sha: HEAD.slice(0, 7), fence: 41 } }, "recorded"],
    ["another commit was recorded", { recorded: OTHER }, "not_recorded"],
    ["nothing was recorded", { recorded: null }, "not_recorded"],
    ["never claimed", { recorded: null, mark: null }, "not_recorded"],
    ["claimed again since", { mark: 42 }, "superseded"],
    [
      "claimed again since, and another commit recorded before",
      { mark: 42, recorded: OTHER },
      "not_recorded",
    ],
    ["below an epic's claim", { mark: null, marksAbove: [41] }, "recorded"],
    ["below an epic's claim, on an item claimed before", { mark: 30, marksAbove: [41] }, "recorded"],
    ["below an epic's claim that is not the latest", { mark: null, marksAbove: [50] }, "superseded"],
    ["below an epic's claim, on an item claimed later", { mark: 45, marksAbove: [41] }, "superseded"],
    ["parked", { parked: true }, "parked"],
    ["not admitted", { admitted: false }, "not_admitted"],
    ["neither admitted nor live", { admitted: false, parked: true }, "not_admitted"],
  ])("%s", (_, facts, reason) => {
    const check = claimCheck({ head: HEAD, byHuman: false, items: [item(facts)] });
    expect(check).toMatchObject({ reason, conclusion: reason === "recorded" ? "success" : "failure" });
    // A failure says what to do.
    if (check.conclusion === "failure") expect(check.summary).toMatch(/human/);
    expect(check.title.length).toBeLessThan(80);
    // Whoever pushed as a human with write access has decided.
    expect(claimCheck({ head: HEAD, byHuman: true, items: [item(facts)] }).conclusion).toBe("success");
  });

  it.each<[string, Partial<CheckedItem>, string]>([
    ["not recorded for the other, which nobody works on", { mark: null, recorded: null }, "recorded"],
    ["the other was claimed again since", { mark: 42 }, "superseded"],
    ["the other is parked", { parked: true }, "parked"],
    ["the other is not admitted", { admitted: false }, "not_admitted"],
  ])("of two items, one recorded: %s", (_, other, reason) => {
    const items = [item(), item({ number: 8, ...other })];
    expect(claimCheck({ head: HEAD, byHuman: false, items }).reason).toBe(reason);
    expect(claimCheck({ head: HEAD, byHuman: false, items: items.reverse() }).reason).toBe(reason);
  });

  it("names the token, never who holds it", () => {
    const { summary } = claimCheck({ head: HEAD, byHuman: false, items: [item({ mark: 42 })] });
    expect(summary).toContain("fencing token 41");
    expect(summary).not.toContain("42");
  });
});
