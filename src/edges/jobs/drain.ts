/**
 * Loops that work a queue off, a few at a time. A unit that takes long keeps one loop busy, never the others; a
 * wake while all are busy makes one of them look again. What is left when the process ends lies in the tables.
 */

export interface DrainOptions {
  readonly loops: number;
  /** Takes one piece of work and does it. False: there was none. */
  unit(): Promise<boolean>;
  /** No loop is left; called once per run dry. */
  onIdle(): Promise<void>;
  onError(error: unknown): void;
  readonly stopping: AbortSignal;
}

export class Drain {
  readonly #options: DrainOptions;
  readonly #running = new Set<Promise<void>>();
  #again = false;
  #idle: Promise<void> = Promise.resolve();

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  /** There may be work. */
  wake(): void {
    if (this.#options.stopping.aborted) return;
    if (this.#running.size >= this.#options.loops) {
      this.#again = true;
      return;
    }
    const loop = this.#loop();
    this.#running.add(loop);
    void loop.finally(() => this.#ended(loop));
  }

  /** Resolves when no loop is running. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    await this.#idle;
  }

  async #loop(): Promise<void> {
    const { unit, onError, stopping } = this.#options;
    try {
      while (!stopping.aborted && (await unit())) {
        // Where one was, more may be: another loop takes the next.
        if (this.#running.size < this.#options.loops) this.wake();
      }
    } catch (error) {
      onError(error);
    }
  }

  #ended(loop: Promise<void>): void {
    this.#running.delete(loop);
    if (this.#again) {
      this.#again = false;
      this.wake();
    } else if (this.#running.size === 0 && !this.#options.stopping.aborted) {
      this.#idle = this.#options.onIdle().catch(this.#options.onError);
    }
  }
}
