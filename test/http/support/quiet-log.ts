/** Callers' mistakes are not news: the log stays quiet about them. */

import { expect } from "vitest";
import { WARN } from "../../harness/recorded-log.ts";
import type { World } from "../../harness/world.ts";

/** Marks the place, and answers a function that fails if anything was warned of since. */
export function quietSince(world: World): () => void {
  const from = world.logged.lines.length;
  return () => {
    const loud = world.logged.lines.slice(from).filter((line) => line.level >= WARN);
    expect(loud.map((line) => JSON.stringify(line))).toEqual([]);
  };
}
