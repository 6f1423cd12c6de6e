/**
 * Draws up a line, one caller after the other, each seen to be in it before the next one comes, and lets it be served:
 * so that the order of many is certain, however slow the machine is. Some come who do not wait, and must be refused.
 */

import { setTimeout as delay } from "node:timers/promises";
import { type Asker, ask, type Journal } from "./ask.ts";
import { nowMs } from "./clock.ts";
import type { Call, Exchange, RecordName } from "./history.ts";
import { type SeededRandom, seededRandom } from "./seeded-random.ts";

/** Long enough to draw up the line, short enough to run out soon when the holder is not told of it. */
const HOLD_SECONDS = 8;
const WAIT_SECONDS = 15;
/** If a caller is not seen in line by then, something was broken: the line goes on without that certainty. */
const SEEN_MS = 4_000;

export class LineUp {
  readonly #asker: (owner: string) => Asker;
  readonly #journal: Journal;
  readonly #record: RecordName;
  readonly #random: SeededRandom;
  readonly #stopping: AbortSignal;
  readonly #hasty: Promise<void>[] = [];
  #waiting = 0;

  constructor(
    asker: (owner: string) => Asker,
    journal: Journal,
    record: RecordName,
    seed: number,
    stopping: AbortSignal,
  ) {
    this.#asker = asker;
    this.#journal = journal;
    this.#record = record;
    this.#random = seededRandom(seed);
    this.#stopping = stopping;
  }

  async goOn(length: number): Promise<void> {
    while (!this.#stopping.aborted) {
      const { outcome } = await this.#claim("holder", 0);
      if (outcome.kind === "granted") await this.#round(length, outcome.token);
      else await delay(200);
    }
  }

  async #round(length: number, token: number): Promise<void> {
    const line: Promise<void>[] = [];
    for (let place = 1; place <= length && !this.#stopping.aborted; place += 1) {
      line.push(this.#standInLine(place));
      await this.#seenInLine();
    }
    await this.#release("holder", token);
    await Promise.all(line);
    await Promise.all(this.#hasty.splice(0));
  }

  async #standInLine(place: number): Promise<void> {
    const owner = `waiter-${place}`;
    this.#waiting += 1;
    const { outcome } = await this.#claim(owner, WAIT_SECONDS).finally(() => {
      this.#waiting -= 1;
    });
    if (outcome.kind !== "granted") return;
    if (this.#random.chance(0.5)) this.#hasty.push(this.#tryWithoutWaiting());
    await delay(this.#random.whole(0, 30));
    await this.#release(owner, outcome.token);
  }

  async #tryWithoutWaiting(): Promise<void> {
    const { outcome } = await this.#claim("hasty", 0);
    if (outcome.kind === "granted") await this.#release("hasty", outcome.token);
  }

  async #seenInLine(): Promise<void> {
    const until = nowMs() + SEEN_MS;
    while (nowMs() < until && this.#waiting > 0) {
      const { outcome } = await this.#ask("looker", { kind: "status", record: this.#record });
      if (outcome.kind === "status" && outcome.queueDepth >= this.#waiting) return;
      await delay(10);
    }
  }

  #claim(owner: string, maxWaitSeconds: number): Promise<Exchange> {
    return this.#ask(owner, {
      kind: "claim",
      record: this.#record,
      leaseSeconds: HOLD_SECONDS,
      maxWaitSeconds,
    });
  }

  #release(owner: string, token: number): Promise<Exchange> {
    return this.#ask(owner, { kind: "release", record: this.#record, token });
  }

  #ask(owner: string, call: Call): Promise<Exchange> {
    const asker = this.#asker(owner);
    return ask(asker, this.#journal, this.#random.whole(0, asker.servers.length - 1), call);
  }
}
