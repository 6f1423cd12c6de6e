import { describe, expect, it } from "vitest";
import type { FlaggedReference } from "../../src/domain/closing-keywords.ts";
import { doubtfulMerges, type EndedPull } from "../../src/domain/doubtful-merge.ts";

const merged = (more: Partial<EndedPull> = {}): EndedPull => ({
  number: 12,
  title: "Work",
  isOpen: false,
  mergedAt: new Date("2026-09-06T00:00:00Z"),
  items: [],
  flagged: [],
  ...more,
});
const closed = (title: string): EndedPull => merged({ title, mergedAt: null, items: [7, 8] });
const says = (why: FlaggedReference["why"], number = 7): FlaggedReference => ({
  number,
  why,
  line: "the line",
});

describe("doubtfulMerges", () => {
  it.each<[string, EndedPull, number[]]>([
    ["row 54: closed unmerged with a bors's title", closed("[Merged by Bors] - Work"), [7, 8]],
    ["row 54: in other letters, of another bot", closed(" [merged by some-bot[1]] Work"), [7, 8]],
    ["closed unmerged with any other title", closed("Work [Merged by Bors]"), []],
    ["such a title on one that is open", { ...closed("[Merged by Bors] - Work"), isOpen: true }, []],
    ["such a title on one that was merged", merged({ title: "[Merged by Bors] - Work", items: [7] }), []],
    ["row 57: a negation", merged({ flagged: [says("negated")] }), [7]],
    ["row 57: a link to a comment", merged({ flagged: [says("comment_link")] }), [7]],
    ["row 58: a linked form", merged({ flagged: [says("linked_form")] }), [7]],
    ["row 61: a revert repeats what it takes back", merged({ flagged: [says("reverted")] }), []],
    ["before the merge", merged({ isOpen: true, mergedAt: null, flagged: [says("negated")] }), []],
    ["where another line names it without doubt", merged({ items: [7], flagged: [says("negated")] }), []],
    ["two doubts about one item", merged({ flagged: [says("negated"), says("linked_form")] }), [7]],
    ["doubts about two items", merged({ flagged: [says("negated"), says("negated", 9)] }), [7, 9]],
  ])("%s", (_, pull, items) => expect(doubtfulMerges(pull).map(({ item }) => item)).toEqual(items));

  it("says what was written and what to do", () => {
    expect(doubtfulMerges(merged({ flagged: [says("negated")] }))[0]?.detail).toBe(
      'pull request #12 was merged and names this issue with a closing keyword and denies it ("the line"); Leasehold ' +
        "does not count that. If it did complete this issue, close the issue as completed; if not, take the reference " +
        "out of the pull request's text",
    );
  });
});
