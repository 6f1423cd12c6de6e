import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  admissionByHistory,
  type HistoricAdmission,
  type HistoryFacts,
  type LabelEvent,
} from "../../src/domain/admission-history.ts";

const AT = new Date("2026-09-06T00:00:00Z");
const HUMAN = { login: "alice", human: true };
const AGENT = { login: "worker[bot]", human: false };
const labeled = (by: { login: string | null; human: boolean }): LabelEvent => ({
  action: "labeled",
  at: AT,
  ...by,
});
const unlabeled = (by: { login: string | null; human: boolean }): LabelEvent => ({
  action: "unlabeled",
  at: AT,
  ...by,
});

const GATED: HistoricAdmission = { admitted: false, by: null, restore: false };
const RESTORED: HistoricAdmission = { admitted: false, by: null, restore: true };
const ADMITTED: HistoricAdmission = { admitted: true, by: "alice", restore: false };

describe("admissionByHistory (section 3)", () => {
  it.each<[string, HistoryFacts, HistoricAdmission]>([
    ["a human's issue without the label", { author: HUMAN, labelPresent: false, events: [] }, ADMITTED],
    ["a human's issue with it", { author: HUMAN, labelPresent: true, events: [] }, GATED],
    ["an agent's issue with it", { author: AGENT, labelPresent: true, events: [labeled(AGENT)] }, GATED],
    ["an agent's issue that never had it", { author: AGENT, labelPresent: false, events: [] }, RESTORED],
    [
      "row 13: a ghost's issue that never had it",
      { author: { login: null, human: false }, labelPresent: false, events: [] },
      RESTORED,
    ],
    [
      "a human removed it",
      { author: AGENT, labelPresent: false, events: [labeled(AGENT), unlabeled(HUMAN)] },
      ADMITTED,
    ],
    [
      "an agent removed it",
      { author: AGENT, labelPresent: false, events: [labeled(HUMAN), unlabeled(AGENT)] },
      RESTORED,
    ],
    [
      "an agent removed it from a human's issue",
      { author: HUMAN, labelPresent: false, events: [labeled(HUMAN), unlabeled(AGENT)] },
      RESTORED,
    ],
    [
      "somebody whose account is gone removed it",
      {
        author: HUMAN,
        labelPresent: false,
        events: [labeled(HUMAN), unlabeled({ login: null, human: false })],
      },
      RESTORED,
    ],
    [
      "a human admitted it, then it was added again",
      { author: AGENT, labelPresent: true, events: [labeled(AGENT), unlabeled(HUMAN), labeled(AGENT)] },
      GATED,
    ],
    [
      "a human admitted it, somebody added it again and an agent removed that",
      {
        author: AGENT,
        labelPresent: false,
        events: [labeled(AGENT), unlabeled(HUMAN), labeled(HUMAN), unlabeled(AGENT)],
      },
      RESTORED,
    ],
    [
      "rows 18, 19: it vanished with its definition",
      { author: HUMAN, labelPresent: false, events: [labeled(HUMAN)] },
      RESTORED,
    ],
    [
      "an agent removed it, Leasehold put it back, a human removed it",
      {
        author: AGENT,
        labelPresent: false,
        events: [
          labeled(AGENT),
          unlabeled(AGENT),
          labeled({ login: "leasehold[bot]", human: false }),
          unlabeled(HUMAN),
        ],
      },
      ADMITTED,
    ],
  ])("%s", (_, facts, verdict) => expect(admissionByHistory(facts)).toEqual(verdict));

  const actor = fc.constantFrom(HUMAN, AGENT, { login: null, human: false });
  const event = fc.tuple(fc.constantFrom(labeled, unlabeled), actor).map(([make, by]) => make(by));
  const anyFacts = fc.record({ author: actor, labelPresent: fc.boolean(), events: fc.array(event) });

  it("fails closed: nothing is admitted but by a human, and whatever is not shows the label", () => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const verdict = admissionByHistory(facts);
        if (verdict.admitted) {
          expect(facts.labelPresent).toBe(false);
          const last = facts.events.at(-1) ?? { action: "unlabeled", ...facts.author };
          expect(last).toMatchObject({ action: "unlabeled", human: true, login: verdict.by });
        }
        expect(verdict.restore).toBe(!verdict.admitted && !facts.labelPresent);
      }),
      { numRuns: 1000 },
    );
  });
});
