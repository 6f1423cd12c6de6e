/** Lets a few run at once and the others wait for their turn, first come, first served. */

export class Turns {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#most) {
      const { promise: turn, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      // Whoever ends hands its place on: nobody comes between.
      await turn;
    } else {
      this.#running += 1;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
