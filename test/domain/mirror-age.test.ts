/** An old mirror grants no claims; what is not on GitHub has none. */

import { describe, expect, it } from "vitest";
import { isMirrorStale, type MirrorAge, staleText } from "../../src/domain/mirror-age.ts";

const age = (seconds: number, more: Partial<MirrorAge> = {}): MirrorAge => ({
  seconds,
  local: false,
  read: true,
  ...more,
});

describe("isMirrorStale", () => {
  it.each<[string, MirrorAge, number | null, boolean]>([
    ["within the limit", age(3600), 3600, false],
    ["past the limit", age(3601), 3600, true],
    ["past it, where none is set", age(1e9), null, false],
    ["a repository that is not on GitHub", age(1e9, { local: true }), 3600, false],
    ["one that was just made known", age(10, { read: false }), 3600, false],
    ["one that could not be read for long", age(3601, { read: false }), 3600, true],
  ])("%s: %s", (_, given, limit, expected) => expect(isMirrorStale(given, limit)).toBe(expected));
});

it("the text says why, and what to look at", () => {
  expect(staleText(age(4000), 3600)).toMatch(/4000 s.*3600 s.*GET \/health/);
  expect(staleText(age(4000, { read: false }), 3600)).toMatch(/could not be read/);
});
