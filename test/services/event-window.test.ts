/** The window of the newest events: nothing is skipped, and it does not grow. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogEvent } from "../../src/domain/events.ts";
import { EventWindow } from "../../src/services/event-window.ts";

const event = (id: number): LogEvent => ({
  id,
  type: "item.updated",
  repositoryId: 10,
  repo: "acme/widgets",
  number: 7,
  at: new Date(0),
  data: {},
  other: null,
});
const batch = (ids: readonly number[], last = ids.at(-1) ?? 0) => ({ events: ids.map(event), last });
const idsOf = (found: ReturnType<EventWindow["after"]>) =>
  found === null || found === "behind" ? found : found.events.map(({ id }) => id);

describe("a window", () => {
  it("answers the next batch, nothing yet, or that it is not there any more", () => {
    const window = new EventWindow(10, 3);
    expect(window.after(10)).toBeNull();
    expect(window.after(9)).toBe("behind");
    window.add(batch([12, 14]));
    window.add(batch([20]));
    expect(idsOf(window.after(10))).toEqual([12, 14]);
    expect(idsOf(window.after(12))).toEqual([14]);
    expect(idsOf(window.after(14))).toEqual([20]);
    expect(window.after(20)).toBeNull();
    window.add(batch([21, 22]));
    expect(window.after(10)).toBe("behind");
    expect(idsOf(window.after(14))).toEqual([20]);
  });

  it("goes on over numbers without an event", () => {
    const window = new EventWindow(10, 3);
    window.add(batch([], 30));
    expect(window.after(10)).toEqual({ events: [], last: 30 });
    expect(window.head).toBe(30);
  });

  it("whoever is not behind gets each event once, in order, wherever it begins", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 20 }),
        fc.nat({ max: 200 }),
        (steps, most, begin) => {
          const window = new EventWindow(0, most);
          const all: number[] = [];
          for (const gaps of steps) {
            const ids: number[] = [];
            for (const gap of gaps) ids.push((ids.at(-1) ?? all.at(-1) ?? 0) + gap);
            all.push(...ids);
            window.add(batch(ids));
          }
          let position = begin;
          const got: number[] = [];
          for (;;) {
            const next = window.after(position);
            if (next === null) break;
            if (next === "behind") {
              // Only what has fallen out may be missing, and the newest never falls out.
              expect(got).toEqual([]);
              expect(all.filter((id) => id > position).length).toBeGreaterThan(0);
              return;
            }
            got.push(...next.events.map(({ id }) => id));
            position = next.last;
          }
          expect(got).toEqual(all.filter((id) => id > begin));
        },
      ),
    );
  });
});
