/** Small rules of what is proposed: titles alike, tags, the mark in the body. */

import { describe, expect, it } from "vitest";
import { isThatIssue, markedIssue } from "../../src/domain/issue-mark.ts";
import { proposalTagsFault } from "../../src/domain/proposal-tags.ts";
import { similarTitles, titleLikeness } from "../../src/domain/similar-titles.ts";

describe("titleLikeness", () => {
  it.each([
    ["the same", "Fix the pump", "Fix the pump", true],
    ["case, accents and punctuation aside", "Résumé: upload fails!", "resume upload fails", true],
    ["another order", "pump: fix rattle", "Fix rattle of the pump", true],
    ["a slip of the pen", "Valve leaks when cold", "Valve laeks when cold", true],
    ["another form of a word", "Add retries to uploads", "Add retry to upload", true],
    ["another thing", "Add login", "Add logout", false],
    ["another number", "Migrate step 1", "Migrate step 2", false],
    ["the same words and more", "Fix pump", "Fix pump noise in the cellar at night", false],
    ["nothing in common", "Fix the pump", "Write the handbook", false],
    ["only fillers", "To the", "For a", false],
  ])("%s", (_, a, b, alike) => {
    expect(titleLikeness(a, b) >= 0.75).toBe(alike);
    expect(titleLikeness(b, a)).toBe(titleLikeness(a, b));
  });

  it("names the likest first, at most five", () => {
    const titles = ["Fix pump noise", "Fix pump noises", "Write", ...Array(6).fill("Fix the pump noise")];
    const candidates = titles.map((title, at) => ({ number: at + 1, title }));
    expect(similarTitles("Fix pump noise", candidates).map(({ number }) => number)).toEqual([1, 4, 5, 6, 7]);
  });
});

describe("proposalTagsFault", () => {
  it.each([
    [["team:red", "phase:research", "homeRegion:west", "baseBranch:dev"], null],
    [[], null],
    [["phase:done"], /phase/],
    [["phase:research", "phase:integration"], /phase: stands once/],
    [["baseBranch:a", "baseBranch:b"], /baseBranch: stands once/],
    [["homeRegion:no region"], /homeRegion/],
    [["baseBranch:"], /baseBranch/],
    [["resource:staging/eu-1", "resource:db"], null],
    [["resource:Staging"], /resource:Staging/],
    [["resource:"], /after resource:/],
    [[`resource:${"x".repeat(129)}`], /128/],
  ])("%j", (tags, fault) => {
    const found = proposalTagsFault(tags);
    if (fault === null) expect(found).toBeNull();
    else expect(found).toMatch(fault);
  });
});

describe("the mark", () => {
  const sent = markedIssue("Pump", "It rattles.", "id-1");

  it.each([
    ["the issue as it was sent", "Pump", sent.body, true],
    ["edited since", "Pumps", `EDIT\r\n\r\n${sent.mark}\r\nmore`, true],
    ["another request's", "Pump", markedIssue("Pump", "It rattles.", "id-2").body, false],
    ["the mark within a line", "Pump", `> ${sent.mark}`, false],
    ["without", "Pump", "It rattles.", false],
    ["empty", "Pump", null, false],
  ])("%s", (_, title, body, is) => expect(isThatIssue({ title, body }, sent)).toBe(is));

  it("gives way where there is no room; then the whole text tells", () => {
    const body = "x".repeat(65_530);
    const long = markedIssue("Pump", body, "id-1");
    expect(long.body).toBe(body);
    expect(isThatIssue({ title: "Pump", body }, long)).toBe(true);
    expect(isThatIssue({ title: "Valve", body }, long)).toBe(false);
    expect(markedIssue("Pump", "", "id-1").body).toBe(long.mark);
  });
});
