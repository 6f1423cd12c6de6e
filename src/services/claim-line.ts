/**
 * Waiting in line for a claim (protocol 4, "The line").
 *
 * What must hold: first in, first out over all replicas; a caller that does not wait never overtakes (`take_claim`
 * sees the line); waiters hold no connection; a grant is either delivered or taken back.
 *
 * Each process serves its own waiters. It tries when it is told (NOTIFY: a claim ended, a lease got shorter, somebody
 * left the line), when the lease that is in the way runs out, and every second in any case. Only the waiter with
 * the lowest ticket of this process tries, and `take_claim` refuses it while an older ticket of a live process waits.
 */

import type { Logger } from "pino";
import type { RecordRef } from "../domain/record-key.ts";
import { beat, leaveAllLines, leaveForgotten, leaveLine, lineName } from "../store/claim-line.ts";
import type { Db } from "../store/database.ts";
import type { ClaimRow } from "../store/take-claim.ts";
import type { Metrics } from "./metrics.ts";
import { Replayed } from "./once.ts";
import { takeBack } from "./take-back.ts";

export type LineAnswer = ClaimRow | { readonly granted: false; readonly reason: "timeout" };

/** A place in a line that `take_claim` gave. */
export interface Place {
  readonly ref: RecordRef;
  readonly ticket: number;
  /** Tries to take the claim from this place. */
  take(): Promise<ClaimRow>;
}

interface Waiter {
  readonly place: Place;
  /** Answers the waiter. False: it was answered before, and this answer reaches nobody. */
  settle(answer: LineAnswer | "gone" | Replayed): boolean;
}

interface Line {
  readonly waiters: Waiter[];
  /** When the lease in the way runs out. */
  timer: NodeJS.Timeout | null;
  serving: boolean;
  again: boolean;
}

const BEAT_MS = 1_000;
/** How often a line is looked at though nobody called. */
const LOOK_MS = 1_000;

export class ClaimLine {
  readonly #metrics: Metrics;
  readonly #db: Db;
  readonly #replica: string;
  readonly #log: Logger;
  readonly #lines = new Map<string, Line>();
  /** Places that could not be given up, because the database was away. */
  readonly #owed = new Map<number, RecordRef>();
  readonly #timers: NodeJS.Timeout[] = [];
  #closed = false;

  constructor(db: Db, replica: string, log: Logger, metrics: Metrics) {
    this.#metrics = metrics;
    this.#db = db;
    this.#replica = replica;
    this.#log = log;
  }

  /** Starts the heart. Must have beaten once before anybody waits. */
  async start(): Promise<void> {
    await beat(this.#db, this.#replica);
    this.#every(BEAT_MS, async () => {
      // First, so that a heart that comes back does not bring back to life who has left meanwhile.
      await this.#leaveOwed();
      await beat(this.#db, this.#replica);
      await leaveForgotten(this.#db, this.#replica, this.#tickets());
    });
    this.#every(LOOK_MS, () => this.look());
  }

  /** Everybody who waits is answered `timeout`. */
  async stop(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const line of this.#lines.values()) {
      if (line.timer) clearTimeout(line.timer);
      for (const waiter of line.waiters.splice(0)) waiter.settle({ granted: false, reason: "timeout" });
    }
    this.#lines.clear();
    await leaveAllLines(this.#db, this.#replica).catch(() => {});
  }

  #every(ms: number, work: () => Promise<void>): void {
    const timer = setInterval(() => {
      work().catch((error: unknown) => this.#log.warn({ err: error }, "the claim line could not be kept"));
    }, ms);
    timer.unref();
    this.#timers.push(timer);
  }

  /**
   * Waits at a place in line. `gone` when `left` was aborted: the caller's connection is closed, or its token has ended.
   * Throws `Replayed` if the same request was answered meanwhile.
   */
  async wait(place: Place, maxWaitMs: number, left: AbortSignal): Promise<LineAnswer | "gone"> {
    if (this.#closed) return { granted: false, reason: "timeout" };
    const name = lineName(place.ref);
    const line = this.#lines.get(name) ?? { waiters: [], timer: null, serving: false, again: false };
    this.#lines.set(name, line);
    const { promise: answered, resolve } = Promise.withResolvers<LineAnswer | "gone" | Replayed>();
    let settled = false;
    const settle = (answer: LineAnswer | "gone" | Replayed): boolean => {
      if (settled) return false;
      settled = true;
      resolve(answer);
      return true;
    };
    line.waiters.push({ place, settle });
    line.waiters.sort((a, b) => a.place.ticket - b.place.ticket);
    const timer = setTimeout(() => settle({ granted: false, reason: "timeout" }), maxWaitMs);
    const onLeft = () => settle("gone");
    left.addEventListener("abort", onLeft, { once: true });
    if (left.aborted) onLeft();
    // The claim may have ended between the ticket and now.
    this.call(name);
    const began = performance.now();
    const answer = await answered;
    this.#metrics.waited(outcomeOf(answer), (performance.now() - began) / 1000);
    clearTimeout(timer);
    left.removeEventListener("abort", onLeft);
    this.#forget(name, line, place.ticket);
    // Whoever was served has no place in the line any more; everyone else gives it up.
    const served = answer !== "gone" && !(answer instanceof Replayed) && answer.granted;
    if (!served && !this.#closed) await this.#leave(place.ref, place.ticket);
    if (answer instanceof Replayed) throw answer;
    return answer;
  }

  /** If the database is away, the next heartbeat gives the place up. */
  async #leave(ref: RecordRef, ticket: number): Promise<void> {
    await leaveLine(this.#db, ref, ticket).catch(() => this.#owed.set(ticket, ref));
  }

  async #leaveOwed(): Promise<void> {
    for (const [ticket, ref] of this.#owed) {
      await leaveLine(this.#db, ref, ticket);
      this.#owed.delete(ticket);
    }
  }

  #tickets(): number[] {
    return [...this.#lines.values()].flatMap((line) => line.waiters.map((waiter) => waiter.place.ticket));
  }

  #forget(name: string, line: Line, ticket: number): void {
    const index = line.waiters.findIndex((waiter) => waiter.place.ticket === ticket);
    if (index >= 0) line.waiters.splice(index, 1);
    if (line.waiters.length > 0 || this.#lines.get(name) !== line) return;
    if (line.timer) clearTimeout(line.timer);
    this.#lines.delete(name);
  }

  /** Something happened to a record: if somebody here waits for it, they try. */
  call(name: string): void {
    const line = this.#lines.get(name);
    if (!line) return;
    if (line.serving) {
      line.again = true;
      return;
    }
    line.serving = true;
    void this.#serve(name, line).finally(() => {
      line.serving = false;
    });
  }

  /** Looks at every line where somebody here waits, a few at a time: pooled connections are for others too. */
  async look(): Promise<void> {
    for (const name of this.#lines.keys()) {
      this.call(name);
      const line = this.#lines.get(name);
      while (line?.serving && !this.#closed) await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  async #serve(name: string, line: Line): Promise<void> {
    do {
      line.again = false;
      try {
        while (await this.#serveFirst(name, line));
      } catch (error) {
        this.#log.warn({ err: error }, "a line could not be served; it is tried again");
      }
    } while (line.again && !this.#closed);
  }

  /** Tries for the first waiter. True: it is answered, and the next may be tried. */
  async #serveFirst(name: string, line: Line): Promise<boolean> {
    const [first] = line.waiters;
    if (!first || this.#closed) return false;
    const answer = await first.place.take().catch((error: unknown) => {
      if (error instanceof Replayed) return error;
      throw error;
    });
    if (answer instanceof Replayed) {
      this.#forget(name, line, first.place.ticket);
      first.settle(answer);
      return true;
    }
    if (!answer.granted && answer.reason === "contended") {
      this.#tryIn(name, line, answer.retryAfterMs);
      return false;
    }
    this.#forget(name, line, first.place.ticket);
    // It timed out, or its caller hung up, while the grant was made: nobody would know of it.
    if (!first.settle(answer) && answer.granted) await takeBack(this.#db, first.place.ref, answer.fence);
    return true;
  }

  #tryIn(name: string, line: Line, ms: number | null): void {
    if (line.timer) clearTimeout(line.timer);
    line.timer = null;
    if (ms === null || this.#lines.get(name) !== line) return;
    line.timer = setTimeout(() => this.call(name), ms + 1);
    line.timer.unref();
  }
}

function outcomeOf(answer: LineAnswer | "gone" | Replayed): "granted" | "timeout" | "gone" | "refused" {
  if (answer === "gone") return "gone";
  if (answer instanceof Replayed || answer.granted) return "granted";
  return answer.reason === "timeout" ? "timeout" : "refused";
}
