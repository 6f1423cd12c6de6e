/** How fast GitHub is written to (github-cases 69): a second between two, under 80 a minute and 500 an hour. */

import { describe, expect, it } from "vitest";
import { GITHUB_PACE, nextWriteAt, writePace } from "../../src/domain/write-pace.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);
const pace = writePace(GITHUB_PACE);

/** Answers the n-th latest of these, counting the one that begins now as the first. */
const of =
  (...secondsAgo: number[]) =>
  (n: number): Date | null => {
    const at = [0, ...secondsAgo][n - 1];
    return at === undefined ? null : ago(at);
  };
const every = (seconds: number, count: number) => Array.from({ length: count }, (_, n) => (n + 1) * seconds);
const waitAfter = (latest: (n: number) => Date | null, at = pace): number =>
  (nextWriteAt(NOW, at, latest).getTime() - NOW.getTime()) / 1000;

describe("the next write", () => {
  it.each([
    ["after the first ever", of(), 1],
    ["after the second", of(1), 1],
    ["when a minute is not full", of(...every(0.5, 73)), 1],
    ["when a minute is full, waits until its first is a minute ago", of(...every(0.5, 74)), 60 - 37],
    ["when an hour is not full", of(...every(2, 478)), 1],
    ["when an hour is full", of(...every(2, 479)), 3600 - 958],
  ])("%s", (_, latest, seconds) => expect(waitAfter(latest)).toBe(seconds));

  it("waits for nothing where there are no limits", () => {
    const free = writePace({ spacingMs: 0, perMinute: 0, perHour: 0 });
    expect(waitAfter(of(...every(0.001, 5000)), free)).toBe(0);
  });

  it("leaves GitHub's limits room", () => {
    expect(GITHUB_PACE.perMinute).toBeLessThan(80);
    expect(GITHUB_PACE.perHour).toBeLessThan(500);
    expect(GITHUB_PACE.spacingMs).toBeGreaterThanOrEqual(1000);
  });
});
