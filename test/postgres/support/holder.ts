import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("./hold-postgres.ts", import.meta.url));

export interface HolderEvent {
  readonly event: "log" | "ready" | "refused" | "sigint";
  readonly message?: string;
  readonly url?: string;
  readonly code?: string;
}

/** Another node process that runs the launcher, in a process group of its own as a shell would give it. */
export class Holder {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #events: HolderEvent[] = [];
  readonly #waiting = new Set<() => void>();
  #complaints = "";

  constructor(dataDir: string, account: { uid?: number; gid?: number } = {}) {
    this.#child = spawn(process.execPath, [SCRIPT, dataDir], {
      ...account,
      cwd: "/",
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.pid = this.#child.pid ?? 0;
    if (this.#child.stdout === null || this.#child.stderr === null) throw new Error("no pipes");
    createInterface(this.#child.stdout).on("line", (line) => {
      this.#events.push(JSON.parse(line));
      for (const wake of this.#waiting) wake();
    });
    this.#child.stderr.on("data", (chunk) => {
      this.#complaints += chunk;
    });
    this.#child.once("exit", () => {
      for (const wake of this.#waiting) wake();
    });
  }

  /** The first event that fits, waiting for it; fails with all that did happen when the process ends without it. */
  async event(wanted: HolderEvent["event"], message?: string): Promise<HolderEvent> {
    for (;;) {
      const found = this.#events.find(
        (event) => event.event === wanted && (message === undefined || event.message === message),
      );
      if (found !== undefined) return found;
      if (this.hasEnded) {
        throw new Error(`no "${wanted}" but ${JSON.stringify(this.#events)}\n${this.#complaints}`);
      }
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  async ready(): Promise<string> {
    const { url = "" } = await this.event("ready");
    return url;
  }

  /** As `kill -9` does it: no handler runs. */
  async killHard(): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  /** As ^C in a terminal does it. */
  interruptGroup(): void {
    process.kill(-this.pid, "SIGINT");
  }

  private get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
