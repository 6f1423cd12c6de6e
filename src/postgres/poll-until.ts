import { setTimeout as delay } from "node:timers/promises";

/** Asks again every few milliseconds; false when the time is over and the answer never was true. */
export async function pollUntil(
  condition: () => Promise<boolean>,
  { withinMs, everyMs = 20 }: { withinMs: number; everyMs?: number },
): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() >= deadline) return false;
    await delay(everyMs);
  }
  return true;
}
