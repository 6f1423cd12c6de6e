/** What a look at the App's deliveries proves: silence, a gap or too many failures prove nothing. */

import { describe, expect, it } from "vitest";
import { type AuditFacts, judgeAudit } from "../../src/domain/delivery-audit.ts";

const NOW = new Date("2026-09-06T12:00:00Z");
const ago = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1000);
const facts = (more: Partial<AuditFacts>): AuditFacts => ({
  now: NOW,
  last: ago(400),
  listed: [ago(400), ago(200), ago(30)],
  whole: true,
  reached: true,
  quietMs: 900_000,
  ...more,
});

describe("judgeAudit", () => {
  it.each<[string, Partial<AuditFacts>, object]>([
    ["deliveries since the last look, without a silence", {}, { kind: "continues" }],
    ["nothing new, and not for long", { listed: [] }, { kind: "continues" }],
    ["none at all, ever", { last: null, listed: [] }, { kind: "doubt" }],
    ["none for longer than a quiet time", { last: ago(901), listed: [ago(901)] }, { kind: "doubt" }],
    ["the first look", { last: null }, { kind: "begins", from: ago(400) }],
    [
      "a silence since the last look, in which the hook may have been off",
      { last: ago(4000), listed: [ago(4000), ago(300), ago(10)] },
      { kind: "begins", from: ago(300) },
    ],
    [
      "the latest of several silences counts",
      { last: null, listed: [ago(9000), ago(5000), ago(300), ago(10)] },
      { kind: "begins", from: ago(300) },
    ],
    [
      "longer ago than GitHub keeps deliveries",
      { last: ago(3 * 86_400 + 1), listed: [ago(800), ago(10)] },
      { kind: "begins", from: ago(800) },
    ],
    ["more failed ones than are looked at", { whole: false, reached: false }, { kind: "begins", from: NOW }],
    ["busy: failed ones alone, all of them", { whole: false, listed: [ago(10)] }, { kind: "continues" }],
    ["busy, at the first look", { whole: false, last: null }, { kind: "begins", from: NOW }],
  ])("%s", (_, more, expected) => {
    expect(judgeAudit(facts(more))).toMatchObject(expected);
  });
});
