/** Who takes part: workers in this process, workers in processes of their own, and observers who only look. */

import { setTimeout as delay } from "node:timers/promises";
import { ask, type Journal } from "./ask.ts";
import type { RecordName } from "./history.ts";
import { LineUp } from "./line-up.ts";
import { seededRandom } from "./seeded-random.ts";
import type { Stage } from "./stage.ts";
import { type WorkerPlan, work } from "./worker.ts";
import { WorkerHost } from "./worker-host.ts";

export interface CastSizes {
  /** In processes of their own, which are paused and killed. */
  readonly processes: number;
  /** In this process; they hang up on some waits. */
  readonly wild: number;
  /** In this process; they always wait for their answer, so that it shows who stood in line when. */
  readonly calm: number;
  readonly observers: number;
  /** How many stand in each of the lines that are drawn up one caller after the other. */
  readonly lineLength: number;
}

export interface HotRecords {
  readonly wild: readonly RecordName[];
  readonly calm: readonly RecordName[];
  readonly lines: readonly RecordName[];
}

export class Cast {
  readonly processes: WorkerHost[] = [];
  /** What workers died of that nobody killed. */
  readonly deaths: string[] = [];
  readonly #stage: Stage;
  readonly #hot: HotRecords;
  readonly #journal: Journal;
  readonly #seed: number;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>[] = [];
  #born = 0;

  constructor(stage: Stage, hot: HotRecords, journal: Journal, seed: number) {
    this.#stage = stage;
    this.#hot = hot;
    this.#journal = journal;
    this.#seed = seed;
  }

  async enter(sizes: CastSizes): Promise<void> {
    for (let n = 0; n < sizes.calm; n += 1) this.#start(this.#plan("calm", this.#hot.calm, false));
    for (let n = 0; n < sizes.wild; n += 1) this.#start(this.#plan("wild", this.#hot.wild, true));
    for (let n = 0; n < sizes.observers; n += 1) this.#keep(this.#observe(`observer/${n}`, n));
    for (const [n, record] of this.#hot.lines.entries()) {
      const asker = (owner: string) => this.#stage.caller(`line/${n}/${owner}`);
      const lineUp = new LineUp(asker, this.#journal, record, this.#seed + n, this.#stopping.signal);
      this.#keep(lineUp.goOn(sizes.lineLength));
    }
    for (let n = 0; n < sizes.processes; n += 1) await this.#spawn();
  }

  /** kill -9, and another in its place. */
  async replace(worker: WorkerHost): Promise<void> {
    this.processes.splice(this.processes.indexOf(worker), 1);
    await worker.kill();
    if (!this.#stopping.signal.aborted) await this.#spawn();
  }

  /** Everybody finishes what they are at. */
  async leave(): Promise<void> {
    this.#stopping.abort();
    for (const worker of this.processes) {
      if (!worker.isRunning) this.deaths.push(`${worker.owner}: ${worker.errors}`);
    }
    await Promise.all([...this.#running, ...this.processes.map((worker) => worker.stop())]);
  }

  /** At once, after a failure. */
  async kill(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.processes.map((worker) => worker.kill()));
  }

  #plan(kind: string, hot: readonly RecordName[], hangsUp: boolean): WorkerPlan {
    this.#born += 1;
    return {
      ...this.#stage.caller(`${kind}/${this.#born}`),
      seed: this.#seed + this.#born,
      items: this.#stage.items,
      hot,
      hangsUp,
    };
  }

  #start(plan: WorkerPlan): void {
    this.#keep(work(plan, this.#journal, this.#stopping.signal));
  }

  #keep(running: Promise<void>): void {
    running.catch((error: unknown) => this.deaths.push(String(error)));
    this.#running.push(running.catch(() => {}));
  }

  async #spawn(): Promise<void> {
    const plan = this.#plan("process", this.#hot.wild, true);
    this.processes.push(await WorkerHost.start(plan, this.#stage.folder, this.#journal));
  }

  /** Looks at the lines all the time, now and then at a text or a history. */
  async #observe(owner: string, n: number): Promise<void> {
    const asker = this.#stage.caller(owner);
    const random = seededRandom(this.#seed - 1 - n);
    const hot = [...this.#hot.calm, ...this.#hot.calm, ...this.#hot.wild];
    while (!this.#stopping.signal.aborted) {
      const server = random.whole(0, 1);
      const record = random.pick(hot);
      const choice = random.next();
      const kind = choice < 0.85 ? "status" : choice < 0.95 ? "read" : "grants";
      const { outcome } = await ask(asker, this.#journal, server, { kind, record });
      await delay(outcome.kind === "unsent" ? 50 : random.whole(2, 20));
    }
  }
}
