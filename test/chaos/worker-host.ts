/** Runs a worker's process, hears its reports, and stops, wakes and kills it. */

import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Journal, Opened } from "./ask.ts";
import { nowMs } from "./clock.ts";
import type { Exchange } from "./history.ts";
import { type Leashed, spawnLeashed } from "./leashed.ts";
import type { WorkerPlan } from "./worker.ts";
import type { WorkerLine } from "./worker-process.ts";

const PROGRAM = join(import.meta.dirname, "worker-process.ts");
/** The longest wait, and then some for a busy machine. */
const STOP_MS = 20_000;
/** A lease with less than this left is as good as over. */
const WORTH_MS = 200;

export class WorkerHost {
  readonly owner: string;
  readonly #process: Leashed;
  readonly #journal: Journal;
  readonly #open = new Map<string, Opened>();
  readonly #drained: Promise<void>;
  #onGrant: (() => void)[] = [];
  #errors = "";
  #holds = false;
  #stopped = false;

  private constructor(owner: string, running: Leashed, journal: Journal) {
    this.owner = owner;
    this.#process = running;
    this.#journal = journal;
    const { stdout, stderr } = running.child;
    if (!stdout || !stderr) throw new Error("the worker has no output");
    stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errors = (this.#errors + text).slice(-4_000);
    });
    const lines = createInterface({ input: stdout });
    lines.on("line", (line) => this.#hear(line));
    const over = new Promise<void>((resolve) => lines.once("close", resolve));
    this.#drained = Promise.all([over, running.exited]).then(() => this.#cutOff());
  }

  static async start(plan: WorkerPlan, folder: string, journal: Journal): Promise<WorkerHost> {
    const running = await spawnLeashed([PROGRAM, JSON.stringify(plan)], { cwd: folder, env: {} });
    return new WorkerHost(plan.owner, running, journal);
  }

  /** It was granted something and has not given it back. */
  get holds(): boolean {
    return this.#holds;
  }

  get isRunning(): boolean {
    return this.#process.isRunning();
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** What it complained of, if it died of itself. */
  get errors(): string {
    return this.#errors;
  }

  /** Resolves when it has been granted a lease that still runs; at the latest when it is gone. */
  nextGrant(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onGrant.push(resolve);
    void this.#drained.then(resolve);
    return promise;
  }

  pause(): void {
    this.#stopped = true;
    this.#process.kill("SIGSTOP");
  }

  resume(): void {
    this.#stopped = false;
    this.#process.kill("SIGCONT");
  }

  /** Gone at once. Resolves when all that it reported has been heard. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#drained;
  }

  /** Finishes what it is at. */
  async stop(): Promise<void> {
    this.resume();
    this.#process.kill("SIGTERM");
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), STOP_MS);
    await this.#drained;
    clearTimeout(timer);
  }

  #hear(line: string): void {
    // A line that was cut by a kill is not one.
    if (!line.endsWith("}}")) return;
    const said = JSON.parse(line) as WorkerLine;
    if ("begun" in said) {
      this.#open.set(said.begun.id, said.begun);
      this.#journal.begin(said.begun);
      return;
    }
    const { ended } = said;
    this.#open.delete(ended.id);
    if (ended.call.kind.startsWith("claim")) this.#holds = ended.outcome.kind === "granted";
    if (ended.call.kind === "release") this.#holds = false;
    this.#journal.end(ended);
    const { outcome } = ended;
    // The database's clock is this machine's.
    const left = outcome.kind === "granted" ? outcome.expiresAtMs - Date.now() : 0;
    if (this.#holds && left > WORTH_MS) for (const told of this.#onGrant.splice(0)) told();
  }

  /** What it had begun when it ended has no answer. */
  #cutOff(): void {
    for (const begun of this.#open.values()) this.#journal.end({ ...begun, ...cutNow() });
    this.#open.clear();
  }
}

const cutNow = (): Pick<Exchange, "endMs" | "outcome"> => ({
  endMs: nowMs(),
  outcome: { kind: "cut", why: "the worker was killed", answered: false },
});
