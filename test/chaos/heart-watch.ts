/** Watches whether the servers' hearts beat in time: a server that is too busy for that may be taken for dead. */

import { setTimeout as delay } from "node:timers/promises";
import { nowMs } from "./clock.ts";
import type { DatabaseView } from "./database-view.ts";
import type { Disturbance } from "./history.ts";

const LOOK_MS = 200;
/** Between reading the database's clock and ours. */
const SLACK_MS = 150;

/**
 * A heart that counted until some time, as seen in one look, cannot have lapsed between that look and the next if the
 * next came before that time. Otherwise it may have; and if it beats again, it was late. One that does not beat again
 * is dead, which is known otherwise.
 */
export async function watchHearts(
  database: DatabaseView,
  disturbances: Disturbance[],
  stopping: AbortSignal,
): Promise<void> {
  const countsUntil = new Map<string, number>();
  while (!stopping.aborted) {
    const before = nowMs();
    const hearts = await database.hearts().catch(() => new Map<string, number>());
    const after = nowMs();
    for (const [id, leftMs] of hearts) {
      const known = countsUntil.get(id);
      const until = before + leftMs;
      if (known === undefined || until > known + SLACK_MS) countsUntil.set(id, until);
      const mayHaveLapsed = known !== undefined && known - SLACK_MS < after && until > known + SLACK_MS;
      if (mayHaveLapsed) disturbances.push({ kind: "heart_late", fromMs: known - SLACK_MS, untilMs: after });
    }
    await delay(LOOK_MS, undefined, { signal: stopping }).catch(() => {});
  }
}
