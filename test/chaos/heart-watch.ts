/**
 * Watches whether the servers' hearts beat in time: a server that is too busy for that may be taken for dead. And how
 * the database's clock and this machine's monotonic one compare all the while, for clocks are set and slewed.
 */

import { setTimeout as delay } from "node:timers/promises";
import { nowMs } from "./clock.ts";
import type { ClockOffset, DatabaseView } from "./database-view.ts";
import type { Disturbance } from "./history.ts";

const LOOK_MS = 200;
/** Between reading the database's clock and ours. */
const SLACK_MS = 150;
/** A heart that stopped so long before the end belongs to a server that was killed, which is known otherwise. */
const DEAD_MS = 15_000;

export class HeartWatch {
  readonly #database: DatabaseView;
  readonly #disturbances: Disturbance[];
  /** Up to when each heart counts, as last seen. */
  readonly #countsUntil = new Map<string, number>();
  readonly offsets: ClockOffset[] = [];

  constructor(database: DatabaseView, disturbances: Disturbance[]) {
    this.#database = database;
    this.#disturbances = disturbances;
  }

  async watch(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      await this.#look();
      await delay(LOOK_MS, undefined, { signal: stopping }).catch(() => {});
    }
    await this.#look();
    // One that is late at the very end is not seen to beat again.
    const now = nowMs();
    for (const known of this.#countsUntil.values())
      if (known - SLACK_MS < now && known > now - DEAD_MS) this.#late(known - SLACK_MS, now);
  }

  /**
   * A heart that counted until some time, as seen in one look, cannot have lapsed between that look and the next if
   * the next came before that time. Otherwise it may have; and if it beats again, it was late. One that does not beat
   * again is dead, which is known otherwise.
   */
  async #look(): Promise<void> {
    const before = nowMs();
    const seen = await this.#database.hearts().catch(() => null);
    const after = nowMs();
    if (!seen) return;
    this.offsets.push({ low: seen.clockMs - after, high: seen.clockMs - before });
    for (const [id, leftMs] of seen.leftMs) {
      const known = this.#countsUntil.get(id);
      const until = before + leftMs;
      if (known === undefined || until > known + SLACK_MS) this.#countsUntil.set(id, until);
      const mayHaveLapsed = known !== undefined && known - SLACK_MS < after && until > known + SLACK_MS;
      if (mayHaveLapsed) this.#late(known - SLACK_MS, after);
    }
  }

  #late(fromMs: number, untilMs: number): void {
    this.#disturbances.push({ kind: "heart_late", fromMs, untilMs });
  }
}
