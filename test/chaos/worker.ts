/** What a worker does all day: claims, writes under its token, renews, gives back; and now and then misbehaves. */

import { setTimeout as delay } from "node:timers/promises";
import { type Asker, ask, type Journal } from "./ask.ts";
import { nowMs } from "./clock.ts";
import type { Call, Exchange, RecordName } from "./history.ts";
import { type SeededRandom, seededRandom } from "./seeded-random.ts";

export interface WorkerPlan extends Asker {
  readonly seed: number;
  /** Any of these may be claimed; `claim-next` finds its own. */
  readonly items: readonly RecordName[];
  /** Records that many want, and wait for. */
  readonly hot: readonly RecordName[];
  /** Hangs up on some waits. */
  readonly hangsUp: boolean;
}

type Held = Extract<Exchange["outcome"], { kind: "granted" }>;

export async function work(plan: WorkerPlan, journal: Journal, stopping: AbortSignal): Promise<void> {
  const worker = new Worker(plan, journal, stopping);
  while (!stopping.aborted) await worker.takeTurn();
}

class Worker {
  readonly #plan: WorkerPlan;
  readonly #journal: Journal;
  readonly #stopping: AbortSignal;
  readonly #random: SeededRandom;
  #writes = 0;

  constructor(plan: WorkerPlan, journal: Journal, stopping: AbortSignal) {
    this.#plan = plan;
    this.#journal = journal;
    this.#stopping = stopping;
    this.#random = seededRandom(plan.seed);
  }

  async takeTurn(): Promise<void> {
    const { outcome } = await this.#claim();
    if (outcome.kind === "granted") await this.#hold(outcome);
    // Nobody is there, or nothing is free: no hurry.
    else await delay(outcome.kind === "unsent" ? 100 : this.#random.whole(5, 60));
    await delay(this.#random.whole(0, 80));
  }

  async #claim(): Promise<Exchange> {
    const random = this.#random;
    const { items, hot, hangsUp } = this.#plan;
    const leaseSeconds = random.whole(1, 3);
    const choice = random.next();
    if (choice < 0.3) return this.#ask({ kind: "claim-next", leaseSeconds });
    const record = choice < 0.9 ? random.pick(hot) : random.pick(items);
    const maxWaitSeconds = choice < 0.75 || choice >= 0.95 ? random.whole(1, 5) : 0;
    const call: Call = { kind: "claim", record, leaseSeconds, maxWaitSeconds };
    if (!hangsUp || maxWaitSeconds === 0 || !random.chance(0.1)) return this.#ask(call);
    return this.#ask(call, AbortSignal.timeout(random.whole(50, 1_500)));
  }

  async #hold(held: Held): Promise<void> {
    const random = this.#random;
    const until = nowMs() + held.leaseSeconds * 1000;
    for (let times = random.whole(0, 3); times > 0; times -= 1) {
      await this.#write(held, held.token);
      await delay(random.whole(0, 120));
      if (random.chance(0.3)) await this.#renew(held);
    }
    const fate = random.next();
    if (fate < 0.7) await this.#release(held);
    else if (fate < 0.8) await this.#overstay(held, until);
    else if (fate < 0.92) await this.#misbehave(held);
    // Otherwise it walks away, and the lease runs out.
  }

  /** Works on past the lease's end: lawful, until somebody else is granted it. */
  async #overstay(held: Held, until: number): Promise<void> {
    const late = until - nowMs() + this.#random.whole(50, 700);
    await delay(Math.max(0, late), undefined, { signal: this.#stopping }).catch(() => {});
    await this.#write(held, held.token);
    await this.#renew(held);
    await delay(this.#random.whole(0, 300));
    await this.#write(held, held.token);
    await this.#release(held);
  }

  async #misbehave(held: Held): Promise<void> {
    await this.#write(held, null);
    await this.#write(held, held.token + 1_000_000);
    await this.#release(held);
    await this.#write(held, held.token);
    await this.#release(held);
    await this.#renew(held);
    await this.#write(held, null);
  }

  #write({ record }: Held, token: number | null): Promise<Exchange> {
    this.#writes += 1;
    const text = `${this.#plan.owner} wrote ${this.#writes} under ${token}`;
    return this.#ask({ kind: "write", record, token, text });
  }

  #renew({ record, token }: Held): Promise<Exchange> {
    return this.#ask({ kind: "renew", record, token, leaseSeconds: this.#random.whole(1, 3) });
  }

  #release({ record, token }: Held): Promise<Exchange> {
    return this.#ask({ kind: "release", record, token });
  }

  #ask(call: Call, hangUp?: AbortSignal): Promise<Exchange> {
    const server = this.#random.whole(0, this.#plan.servers.length - 1);
    return ask(this.#plan, this.#journal, server, call, hangUp);
  }
}
