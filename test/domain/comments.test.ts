import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ClaimNews,
  claimComment,
  completedComment,
  type ParkNews,
  parkedComment,
  releasedComment,
} from "../../src/domain/comments.ts";
import { type Marker, parseMarker } from "../../src/domain/marker.ts";
import { MAX_COMMENT_LENGTH } from "../../src/domain/neutralise.ts";
import { at, NOW } from "./facts.ts";

const news = (facts: Partial<ClaimNews> = {}): ClaimNews => ({
  number: 7,
  owner: "worker/7f3a",
  region: "local",
  fence: 41,
  grantedAt: NOW,
  leaseExpiresAt: at(900),
  attempt: 1,
  threshold: 3,
  previous: null,
  ...facts,
});
const OUTCOME = { number: 7, owner: "worker/7f3a", fence: 41 };
const parked = (facts: Partial<ParkNews> = {}): ParkNews => ({
  ...OUTCOME,
  reason: "3 attempts did not complete it.",
  note: null,
  ruling: null,
  staleLabel: "stale",
  ...facts,
});

const outcome = (result: "complete" | "released" | "parked"): Marker => ({
  verb: "outcome",
  item: "issue-7",
  ...OUTCOME,
  result,
});

describe("every comment begins with its marker", () => {
  it("a claim", () => {
    const [first] = claimComment(news({ grantedAt: new Date("2026-09-06T00:12:44.987Z") })).split("\n");
    expect(first).toBe(
      "<!-- backlog-worker: claim item=issue-7 owner=worker/7f3a region=local fence=41 at=2026-09-06T00:12:44Z -->",
    );
  });

  it.each<[string, string, Marker]>([
    ["a release", releasedComment(OUTCOME, null), outcome("released")],
    ["a completion by a merge", completedComment(OUTCOME, { pull: 12, base: "dev" }), outcome("complete")],
    ["a completion by a human", completedComment(OUTCOME, { human: "alice" }), outcome("complete")],
    [
      "a completion by durable places",
      completedComment(OUTCOME, { durable: ["mem/a/b"] }),
      outcome("complete"),
    ],
    ["a completion with the integration", completedComment(OUTCOME, { integration: 9 }), outcome("complete")],
    ["a park", parkedComment(parked()), outcome("parked")],
  ])("%s", (_, body, marker) => {
    expect(parseMarker(body)).toEqual(marker);
    expect(body.split("\n")[0]).toBe(
      `<!-- backlog-worker: outcome item=issue-7 owner=worker/7f3a fence=41 result=${"result" in marker ? marker.result : ""} -->`,
    );
  });

  it("an item parked without ever having been claimed", () => {
    const body = parkedComment(parked({ owner: "leasehold", fence: 0 }));
    expect(parseMarker(body)).toMatchObject({ verb: "outcome", fence: 0, result: "parked" });
  });
});

describe("the text under a claim marker", () => {
  it("tells the attempt, the threshold and the lease", () => {
    const body = claimComment(news({ attempt: 2 }));
    expect(body).toContain("attempt 2 of 3");
    expect(body).toContain("2026-09-06T12:15:00Z");
    expect(body).not.toContain("Takes over");
  });

  it("names the prior owner and fence when another takes a lapsed item", () => {
    const body = claimComment(news({ previous: { owner: "worker/old", fence: 40, lapsed: true } }));
    expect(body).toContain("`worker/old`");
    expect(body).toContain("fence 40");
  });

  it("speaks of no takeover when the item was given back", () => {
    const body = claimComment(news({ previous: { owner: "worker/old", fence: 40, lapsed: false } }));
    expect(body).not.toContain("worker/old");
  });
});

describe("the text of an outcome", () => {
  it("a completion names the pull request and its base, or the human", () => {
    expect(completedComment(OUTCOME, { pull: 12, base: "dev" })).toMatch(/#12.*`dev`/);
    expect(completedComment(OUTCOME, { human: "alice" })).toContain("alice");
  });

  it("a park says why, and how it ends", () => {
    const body = parkedComment(parked({ reason: "Which API?", staleLabel: "needs-ruling" }));
    expect(body).toContain("Parked: Which API?");
    expect(body).toContain("`needs-ruling`");
  });

  it.each([null, "", "  \n "])("without a note there is no quotation: %j", (note) => {
    expect(releasedComment(OUTCOME, note).split("\n")).toHaveLength(2);
  });
});

const MARKER =
  "<!-- backlog-worker: claim item=issue-7 owner=worker/7f3a region=local fence=99 at=2026-09-06T00:12:44Z -->";
const PIECES = [
  "-->",
  "<!--",
  "@alice",
  "@org/team",
  "#7",
  "fixes #7",
  "\n",
  "\r\n",
  "\r",
  "`",
  "```",
  ">",
  "\0",
  "\uD83D",
  MARKER,
];
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: "binary", maxLength: 5 })), { maxLength: 20 })
  .map((pieces) => pieces.join(""));

/** All that Leasehold says with a text of somebody else's in it. */
const saidWith = (text: string): string[] => [
  releasedComment(OUTCOME, text),
  parkedComment(parked({ reason: text })),
  parkedComment(parked({ note: text })),
  parkedComment(parked({ ruling: { owner: text, question: text } })),
  completedComment(OUTCOME, { human: text }),
  completedComment(OUTCOME, { durable: [text] }),
  completedComment(OUTCOME, { pull: 12, base: text }),
];
const below = (body: string): string => body.slice(body.indexOf("\n") + 1);

describe("text that comes from a worker", () => {
  it.each(PIECES)("carries no marker, no end of a comment and no mention: %j", (piece) => {
    for (const body of saidWith(`a ${piece} b${piece}`)) {
      expect(parseMarker(body)).toMatchObject({ fence: 41, owner: "worker/7f3a" });
      expect(below(body)).not.toMatch(/<!--|-->|@[a-z]|fixes #\d/i);
    }
  });

  it("whatever it is, the comment stays its own marker's and within what GitHub takes", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        for (const body of saidWith(text)) {
          expect(parseMarker(body)).toMatchObject({ verb: "outcome", number: 7, fence: 41 });
          expect(below(body)).not.toMatch(/<!--|-->|@[a-z]/i);
          expect(body.isWellFormed() && !body.includes("\0")).toBe(true);
          expect(body.length).toBeLessThanOrEqual(MAX_COMMENT_LENGTH);
        }
      }),
    );
  });

  it.each(["\n", "\r\n", "\r", "\n\n", "\r\r", "\n\r"])(
    "a note stays a quotation, so that Leasehold's own voice cannot be forged: %j",
    (lineBreak) => {
      const body = releasedComment(OUTCOME, `done${lineBreak}Completed by pull request 12.`);
      const forged = below(body)
        .split(/\r\n|\r|\n/)
        .filter((line) => line.includes("Completed"));
      expect(forged).toEqual(["> Completed by pull request 12."]);
    },
  );

  it("row 48: a note of 70,000 characters is cut, the marker is not", () => {
    for (const body of saidWith("x".repeat(70_000))) {
      expect(body.length).toBeLessThanOrEqual(MAX_COMMENT_LENGTH);
      expect(parseMarker(body)).toMatchObject({ fence: 41 });
    }
  });

  it("an owner's name mentions nobody: it stands in code", () => {
    const body = claimComment(
      news({ owner: "@alice", previous: { owner: "@acme/team", fence: 40, lapsed: true } }),
    );
    expect(parseMarker(body)).toMatchObject({ owner: "@alice" });
    expect(below(body).replaceAll(/`[^`]*`/g, "")).not.toContain("@");
  });
});
