/** A real server, `node src/main.ts`, in a process of its own at an address that stays. */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findFreePort } from "../../src/postgres/free-port.ts";
import { type Leashed, spawnLeashed } from "./leashed.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
const START_MS = 180_000;
const STOP_MS = 12_000;

export interface ServerSettings {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Loaded before the program, such as one that shifts its clock. */
  readonly preload?: string;
}

export class ServerProcess {
  readonly address: string;
  /** Ends that nobody asked for, with what it said last. */
  readonly deaths: string[] = [];
  /** Told of such an end. */
  onDeath: () => void = () => {};
  readonly #port: number;
  readonly #settings: ServerSettings;
  #process: Leashed | null = null;
  #wanted = false;
  #output = "";

  private constructor(port: number, settings: ServerSettings) {
    this.#port = port;
    this.address = `http://127.0.0.1:${port}`;
    this.#settings = settings;
  }

  /** At a free port, not started yet. */
  static async prepare(settings: ServerSettings): Promise<ServerProcess> {
    return new ServerProcess(await findFreePort(), settings);
  }

  get isRunning(): boolean {
    return this.#process?.isRunning() ?? false;
  }

  /** The end of what it wrote. */
  get output(): string {
    return this.#output;
  }

  /** Starts it and waits until it answers. One that gives up, because its database is away, is started again. */
  async start(): Promise<void> {
    if (this.#wanted && this.isRunning) return;
    const until = performance.now() + START_MS;
    this.#wanted = false;
    while (performance.now() < until) {
      const running = await this.#spawn();
      if (await this.#answers(running, until)) {
        this.#wanted = true;
        return;
      }
      await delay(200);
    }
    throw new Error(`a server did not start within ${START_MS} ms; it said:\n${this.#output}`);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.#wanted = false;
    this.#process?.kill("SIGKILL");
    await this.#process?.exited;
  }

  /** Lets it drain; it is killed when that takes too long. Answers its exit code. */
  async stop(): Promise<number | null> {
    this.#wanted = false;
    const running = this.#process;
    if (!running) return null;
    running.kill("SIGTERM");
    const timer = setTimeout(() => running.kill("SIGKILL"), STOP_MS);
    const { code } = await running.exited;
    clearTimeout(timer);
    return code;
  }

  async #spawn(): Promise<Leashed> {
    const { folder, env, preload } = this.#settings;
    const args = [...(preload ? ["--import", preload] : []), MAIN];
    const running = await spawnLeashed(args, { cwd: folder, env: { ...env, PORT: String(this.#port) } });
    this.#process = running;
    for (const stream of [running.child.stdout, running.child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output = (this.#output + text).slice(-20_000);
      });
    }
    void running.exited.then(({ code, signal }) => {
      if (!this.#wanted || this.#process !== running) return;
      this.#wanted = false;
      this.deaths.push(`it ended by itself (${signal ?? `code ${code}`}):\n${this.#output.slice(-1_500)}`);
      this.onDeath();
    });
    return running;
  }

  async #answers(running: Leashed, until: number): Promise<boolean> {
    while (running.isRunning() && performance.now() < until) {
      const signal = AbortSignal.timeout(15_000);
      const response = await fetch(`${this.address}/health`, { signal }).catch(() => null);
      await response?.arrayBuffer().catch(() => null);
      if (response?.ok) return true;
      await delay(50);
    }
    return false;
  }
}
