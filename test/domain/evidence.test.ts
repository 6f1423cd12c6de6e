import { describe, expect, it } from "vitest";
import {
  type Evidence,
  type EvidencedItem,
  missingEvidence,
  type PlaceEvidence,
} from "../../src/domain/evidence.ts";

const BORN = new Date("2026-09-06T00:00:00Z");
const LATER = new Date("2026-09-07T00:00:00Z");
const item: EvidencedItem = { number: 7, phase: "implementation", baseBranch: "dev", createdAt: BORN };
const research: EvidencedItem = { ...item, phase: "research" };

const pull = (change: { mergedAt?: Date | null; base?: string } | null): Evidence => ({
  kind: "pull",
  number: 12,
  pull: change === null ? null : { number: 12, mergedAt: LATER, base: "dev", ...change },
});
const places = (...found: PlaceEvidence["found"][]): Evidence => ({
  kind: "durable",
  places: found.map((how, index) => ({ place: `mem/decisions/${index}`, found: how }) as PlaceEvidence),
});

describe("what proves an item done (protocol 8)", () => {
  it.each<[string, Evidence, EvidencedItem]>([
    ["a pull request merged into the base", pull({}), item],
    ["a merged pull request, for research too", pull({}), research],
    ["one durable place, for research", places("kept"), research],
    ["several", places("kept", "kept"), research],
  ])("%s", (_, evidence, of) => expect(missingEvidence(evidence, of)).toBeNull());

  it.each<[string, Evidence, EvidencedItem, RegExp]>([
    ["nothing", { kind: "none" }, item, /pullRequest/],
    ["nothing, for research", { kind: "none" }, research, /durable/],
    ["a pull request that is not there", pull(null), item, /no pull request #12/],
    ["one that is not merged", pull({ mergedAt: null }), item, /not merged yet/],
    ["one merged into another branch", pull({ base: "main" }), item, /into main.*is dev/],
    [
      "one merged before there was the item",
      pull({ mergedAt: new Date("2026-09-05T23:59:59Z") }),
      item,
      /before/,
    ],
    ["any, when the base is missing or doubled", pull({}), { ...item, baseBranch: null }, /baseBranch:/],
    ["durable places, for what is no research", places("kept"), item, /research only/],
    ["a place that is not there", places("kept", "missing"), research, /^mem\/decisions\/1 is not there$/],
    ["the item's own record", places("own"), research, /own record/],
    ["a record that expires", places("expires"), research, /expires/],
    ["a comment on another issue", places("elsewhere"), research, /another issue/],
    ["a marker", places("marker"), research, /marker/],
  ])("not %s", (_, evidence, of, why) => expect(missingEvidence(evidence, of)).toMatch(why));
});
