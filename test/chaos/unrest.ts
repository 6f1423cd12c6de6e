/** Carries out the plan of what is to be broken, on workers, servers and the database. */

import { setTimeout as delay } from "node:timers/promises";
import type { Cast } from "./cast.ts";
import type { ChaosAction } from "./chaos-plan.ts";
import { nowMs } from "./clock.ts";
import type { Disturbance } from "./history.ts";
import { type SeededRandom, seededRandom } from "./seeded-random.ts";
import type { Stage } from "./stage.ts";
import type { WorkerHost } from "./worker-host.ts";

export interface Pause {
  readonly owner: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A worker that is granted nothing for so long is paused all the same. */
const LONGEST_WAIT_MS = 8_000;

export class Unrest {
  readonly disturbances: Disturbance[] = [];
  readonly pauses: Pause[] = [];
  workersKilled = 0;
  readonly #stage: Stage;
  readonly #cast: Cast;
  readonly #random: SeededRandom;
  /** Servers and the database are broken one after the other. */
  #turn: Promise<void> = Promise.resolve();

  constructor(stage: Stage, cast: Cast, seed: number) {
    this.#stage = stage;
    this.#cast = cast;
    this.#random = seededRandom(seed);
    for (const [index, server] of stage.servers.entries()) {
      server.onDeath = () => {
        this.disturbances.push({ kind: "server_killed", server: index, atMs: nowMs() });
        this.#inTurn(() => server.start()).catch(() => {});
      };
    }
  }

  /** Everything that was broken is whole again when this resolves. */
  async carryOut(plan: readonly ChaosAction[], stopping: AbortSignal): Promise<void> {
    const began = nowMs();
    const under: Promise<void>[] = [];
    for (const action of plan) {
      const wait = action.atMs - (nowMs() - began);
      await delay(Math.max(0, wait), undefined, { signal: stopping }).catch(() => {});
      if (stopping.aborted) break;
      const carried = this.#perform(action);
      // It is heard of below; until then it must not count as unhandled.
      carried.catch(() => {});
      under.push(carried);
    }
    await Promise.all(under);
    await this.#turn;
  }

  /** Stops one that has just been granted something, so that its lease runs out meanwhile, and wakes it again. */
  async pauseWorker(forMs: number): Promise<void> {
    const worker = await this.#nextHolder();
    if (!worker) return;
    const fromMs = nowMs();
    worker.pause();
    await delay(forMs);
    worker.resume();
    this.pauses.push({ owner: worker.owner, fromMs, untilMs: nowMs() });
  }

  #perform(action: ChaosAction): Promise<void> {
    switch (action.kind) {
      case "pause_worker":
        return this.pauseWorker(action.forMs);
      case "kill_worker":
        return this.#killWorker();
      case "kill_server":
        return this.#inTurn(() => this.#killServer(action.server, action.downMs));
      case "crash_postgres":
        return this.#inTurn(() => this.#crashPostgres(action.downMs));
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work);
    return this.#turn;
  }

  /** The first worker that is granted something from now on; after a while, any. */
  async #nextHolder(): Promise<WorkerHost | null> {
    const free = () => this.#cast.processes.filter((worker) => worker.isRunning && !worker.isStopped);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), LONGEST_WAIT_MS);
    try {
      while (!late.signal.aborted && free().length > 0) {
        const granted = free().map(async (worker) => {
          await worker.nextGrant();
          return worker;
        });
        const first = await Promise.race([...granted, aborted(late.signal)]);
        if (first?.isRunning && !first.isStopped) return first;
      }
    } finally {
      clearTimeout(timer);
    }
    const left = free();
    return left.length === 0 ? null : this.#random.pick(left);
  }

  async #killWorker(): Promise<void> {
    const running = this.#cast.processes.filter((worker) => worker.isRunning);
    if (running.length === 0) return;
    this.workersKilled += 1;
    await this.#cast.replace(this.#random.pick(running));
  }

  async #killServer(index: number, downMs: number): Promise<void> {
    const server = this.#stage.servers[index];
    if (!server) throw new Error(`there is no server ${index}`);
    this.disturbances.push({ kind: "server_killed", server: index, atMs: nowMs() });
    await server.kill();
    await delay(downMs);
    await server.start();
  }

  async #crashPostgres(downMs: number): Promise<void> {
    const fromMs = nowMs();
    await this.#stage.postgres.crash();
    await delay(downMs);
    await this.#stage.postgres.restart();
    while (!(await this.#stage.database.isUp())) await delay(20);
    this.disturbances.push({ kind: "postgres_down", fromMs, untilMs: nowMs() });
  }
}

const aborted = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
