import { describe, expect, it } from "vitest";
import { type ReportFacts, reportSentences } from "../../src/domain/report.ts";

const EMPTY: ReportFacts = {
  verdict: "idle",
  pending: 0,
  ready: [],
  overlapping: [],
  waiting: [],
  inFlight: [],
  awaitingAdmission: [],
  parked: [],
  defects: [],
};
const named = (...numbers: number[]) => numbers.map((number) => ({ number }));

describe("the report's first sentence", () => {
  it.each<[string, Partial<ReportFacts>, RegExp]>([
    ["nothing there", {}, /^Nothing is pending: the backlog is empty\.$/],
    [
      "one is ready",
      { verdict: "ready", pending: 3, ready: named(7) },
      /^1 item is ready .* of 3 pending; #7 is next/,
    ],
    [
      "several are",
      { verdict: "ready", pending: 3, ready: named(7, 9) },
      /^2 items are ready .*; #7 and #9 come next/,
    ],
    [
      "all would touch what is in flight",
      { verdict: "overlapping", pending: 2, overlapping: [{ number: 8, with: [7] }] },
      /without touching the files of what is being worked on/,
    ],
    [
      "all wait for a resource, and no file is meant",
      { verdict: "overlapping", pending: 2 },
      /needs a resource that another item holds/,
    ],
    [
      "all move",
      { verdict: "waiting", pending: 2, inFlight: [{ number: 7, isHeld: true }] },
      /^Nothing is ready\. 2 items are pending, and all of them move: 1 is in flight/,
    ],
    [
      "something starves",
      { verdict: "alarm", pending: 1, waiting: [{ number: 7, reasons: [] }] },
      /1 item starves: nothing that happens by itself will free #7/,
    ],
  ])("%s", (_, facts, sentence) => expect(reportSentences({ ...EMPTY, ...facts })[0]).toMatch(sentence));
});
