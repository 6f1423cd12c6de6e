/** In which order GitHub is told: the urgent first, an issue's own order always, and nobody starves. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EffectKind, nextToWrite, URGENCY, type Waiting } from "../../src/domain/outbox-order.ts";
import { GITHUB_PACE, nextWriteAt, writePace } from "../../src/domain/write-pace.ts";

const START = Date.parse("2026-03-01T12:00:00Z");
const at = (seconds: number) => new Date(START + seconds * 1000);
let lastId = 0;
function waiting(kind: EffectKind, seconds: number, issueNumber: number | null, more: Partial<Waiting> = {}) {
  lastId += 1;
  const createdAt = at(seconds);
  return { repositoryId: 1, id: lastId, kind, issueNumber, createdAt, nextTryAt: createdAt, ...more };
}

describe("what is written next", () => {
  const label = waiting("add_label", 0, 1);
  const marker = waiting("claim_marker", 1, 2);
  const outcome = waiting("comment", 2, 3);
  const close = waiting("close_issue", 3, 3);

  it.each<[string, readonly Waiting[], number, Waiting | null]>([
    ["nothing", [], 10, null],
    ["the only one", [label], 10, label],
    ["a completion before a marker before what is only for show", [label, marker, outcome], 10, outcome],
    ["a marker before what is only for show", [label, marker], 10, marker],
    ["of the same urgency the older", [outcome, close], 10, outcome],
    ["not before it is due", [outcome], 1, null],
  ])("%s", (_, all, seconds, wanted) => expect(nextToWrite(all, at(seconds))).toBe(wanted));

  it("the marker of the issue whose completion waits behind it", () => {
    const own = waiting("claim_marker", 5, 9);
    const done = waiting("comment", 6, 9);
    expect(nextToWrite([marker, own, done], at(10))).toBe(own);
  });

  it("nothing of an issue whose oldest is to be tried again later", () => {
    const failed = waiting("claim_marker", 5, 9, { nextTryAt: at(60) });
    const done = waiting("comment", 6, 9);
    expect(nextToWrite([failed, done, label], at(10))).toBe(label);
  });

  it("what has waited long before what is urgent and young", () => {
    const late = waiting("comment", 1801, 5);
    expect(nextToWrite([late, label], at(1802))).toBe(label);
    expect(nextToWrite([waiting("comment", 1799, 5), label], at(1802))).not.toBe(label);
  });

  it("the same number in another repository is another issue", () => {
    const there = waiting("claim_marker", 0, 3, { repositoryId: 2, nextTryAt: at(60) });
    expect(nextToWrite([there, outcome], at(10))).toBe(outcome);
  });
});

/** Writes all of it at GitHub's pace, on a clock of its own; answers when each was written. */
function play(arrivals: readonly Waiting[]): Map<Waiting, number> {
  const pace = writePace(GITHUB_PACE);
  const requestSeconds = 0.4;
  const begun: number[] = [];
  const left = new Set(arrivals);
  const written = new Map<Waiting, number>();
  let now = START;
  while (left.size > 0) {
    const arrived = [...left].filter(({ createdAt }) => createdAt.getTime() <= now);
    const next = nextToWrite(arrived, new Date(now));
    if (next === null) {
      now = Math.min(...[...left].map(({ createdAt }) => createdAt.getTime()));
      continue;
    }
    begun.push(now);
    written.set(next, now);
    left.delete(next);
    const free = nextWriteAt(new Date(now), pace, (n) => {
      const time = begun.at(-n);
      return time === undefined ? null : new Date(time);
    });
    now = Math.max(free.getTime(), now + requestSeconds * 1000 + pace.spacingSeconds * 1000);
  }
  return written;
}

const kinds = Object.keys(URGENCY) as EffectKind[];
/** What is promised over two hours: quiet hours, and those in which more is promised than may be written. */
const anArrival = fc.record({
  seconds: fc.integer({ min: 0, max: 7200 }),
  kind: fc.constantFrom(...kinds),
  issue: fc.option(fc.integer({ min: 1, max: 40 }), { freq: 20 }),
});

/** Half an hour: for so long the least urgent lets others pass. */
const LONGEST_SECONDS = 1800;
const HOUR = 3600;

describe("with a simulated clock", () => {
  it("nobody starves: the longest wait is bounded by what came before, and in the half hour after", () => {
    fc.assert(
      fc.property(fc.array(anArrival, { minLength: 1, maxLength: 700, size: "max" }), (given) => {
        const arrivals = given
          .sort((a, b) => a.seconds - b.seconds)
          .map(({ seconds, kind, issue }) => waiting(kind, seconds, issue));
        const written = play(arrivals);
        expect(written.size).toBe(arrivals.length);
        for (const [promised, time] of written) {
          const created = promised.createdAt.getTime();
          const ahead = arrivals.filter(
            (other) =>
              other !== promised && (written.get(other) ?? 0) < time && (written.get(other) ?? 0) >= created,
          );
          // Whoever went first was promised before, or at most half an hour after.
          for (const other of ahead)
            expect(other.createdAt.getTime() - created).toBeLessThanOrEqual(LONGEST_SECONDS * 1000);
          // So that the wait is what those take at GitHub's pace: an hour for each full hour's worth, and its own.
          const hours = Math.floor((ahead.length + 1 + GITHUB_PACE.perHour) / GITHUB_PACE.perHour);
          expect((time - created) / 1000).toBeLessThanOrEqual(hours * HOUR);
        }
      }),
      { numRuns: 15 },
    );
  });

  it("an issue is told in the order in which it was promised, a marker before its outcome", () => {
    fc.assert(
      fc.property(fc.array(anArrival, { minLength: 2, maxLength: 200, size: "max" }), (given) => {
        const arrivals = given
          .sort((a, b) => a.seconds - b.seconds)
          .map(({ seconds, kind, issue }) => waiting(kind, seconds, issue));
        const order = [...play(arrivals).keys()];
        for (const issue of new Set(order.map(({ issueNumber }) => issueNumber))) {
          const ids = order.filter(({ issueNumber }) => issueNumber === issue).map(({ id }) => id);
          expect(ids).toEqual([...ids].sort((a, b) => a - b));
        }
      }),
      { numRuns: 30 },
    );
  });

  it("a label is written in its time though completions come faster than GitHub takes them", () => {
    const label = waiting("add_label", 0, 1);
    const flood = Array.from({ length: 1600 }, (_, n) => waiting("comment", n * 1.3, 100 + n));
    const order = [...play([...flood, label]).keys()];
    const isLate = ({ createdAt }: Waiting) => createdAt > at(LONGEST_SECONDS);
    const place = order.indexOf(label);
    expect(order.slice(0, place).filter(isLate)).toEqual([]);
    expect(order.slice(place + 1).every(isLate)).toBe(true);
    expect(order.slice(place + 1).length).toBeGreaterThan(200);
  });

  it("a thousand markers do not hold up a completion", () => {
    const markers = Array.from({ length: 1000 }, (_, n) => waiting("claim_marker", 0, n + 1));
    const done = waiting("comment", 30, 2000);
    const written = play([...markers, done]);
    expect((written.get(done) ?? 0) - done.createdAt.getTime()).toBeLessThan(3000);
  });
});
