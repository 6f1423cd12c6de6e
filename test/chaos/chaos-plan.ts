/** What is broken, and when: decided before the race begins, from its seed. */

import { seededRandom } from "./seeded-random.ts";

export type ChaosAction =
  | { readonly kind: "pause_worker"; readonly atMs: number; readonly forMs: number }
  | { readonly kind: "kill_worker"; readonly atMs: number }
  | { readonly kind: "kill_server"; readonly atMs: number; readonly server: number; readonly downMs: number }
  | { readonly kind: "crash_postgres"; readonly atMs: number; readonly downMs: number };

/** How often, on average. A pause is longer than the longest lease of the race. */
const EVERY_MS = { pause: 900, killWorker: 2_500 };
/** Of each round, one server is killed early and PostgreSQL crashes in the middle. */
const ROUND_MS = 18_000;

export function planChaos(seed: number, durationMs: number): ChaosAction[] {
  const random = seededRandom(seed);
  const actions: ChaosAction[] = [];
  const about = (ms: number): number => ms * (0.85 + 0.3 * random.next());
  const rounds = Math.max(1, Math.round(durationMs / ROUND_MS));
  const roundMs = durationMs / rounds;
  for (let round = 0; round < rounds; round += 1) {
    const began = round * roundMs;
    const server = random.whole(0, 1);
    actions.push({
      kind: "kill_server",
      atMs: began + about(0.25 * roundMs),
      server,
      downMs: random.whole(0, 1_500),
    });
    actions.push({
      kind: "crash_postgres",
      atMs: began + about(0.55 * roundMs),
      downMs: random.whole(0, 1_500),
    });
    // Now and then the other server dies too, soon after.
    if (random.chance(0.5))
      actions.push({
        kind: "kill_server",
        atMs: began + about(0.8 * roundMs),
        server: 1 - server,
        downMs: random.whole(0, 500),
      });
  }
  for (let atMs = about(EVERY_MS.pause); atMs < durationMs; atMs += about(EVERY_MS.pause))
    actions.push({ kind: "pause_worker", atMs, forMs: random.whole(3_200, 4_500) });
  for (let atMs = about(EVERY_MS.killWorker); atMs < durationMs; atMs += about(EVERY_MS.killWorker))
    actions.push({ kind: "kill_worker", atMs });
  return actions.filter(({ atMs }) => atMs < durationMs).sort((a, b) => a.atMs - b.atMs);
}
