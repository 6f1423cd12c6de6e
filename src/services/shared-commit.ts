/**
 * Group commit: what comes while a commit is under way is collected, and the next commit is of all of it. Under load many
 * share the wait for the disk; alone, nobody waits for company. One commit at a time, so that what came first is first.
 */

export interface SharedCommitOptions<In, Out> {
  /** Does all of it in one commit, and answers for each in their order. */
  run(all: readonly In[]): Promise<readonly Out[]>;
  weigh(one: In): number;
  /** Whether what one of them holds is to blame: then the others are done without it. */
  isOfOne(error: unknown): boolean;
  /** No commit is of more than so many, nor, with more than one, of more than so much. */
  readonly most: { readonly count: number; readonly weight: number };
}

interface Waiting<In, Out> {
  readonly one: In;
  resolve(out: Out): void;
  reject(error: unknown): void;
}

export class SharedCommit<In, Out> {
  readonly #options: SharedCommitOptions<In, Out>;
  readonly #waiting: Waiting<In, Out>[] = [];
  #isBusy = false;

  constructor(options: SharedCommitOptions<In, Out>) {
    this.#options = options;
  }

  /** Resolves when it is committed; rejects when it is not, whatever became of the others. */
  add(one: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ one, resolve, reject });
      if (!this.#isBusy) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    // What arrives in this turn of the event loop comes along.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commit(this.#next());
    this.#isBusy = false;
  }

  #next(): Waiting<In, Out>[] {
    const { most, weigh } = this.#options;
    let weight = 0;
    let count = 0;
    for (const { one } of this.#waiting) {
      weight += weigh(one);
      if (count > 0 && (count >= most.count || weight > most.weight)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #commit(all: readonly Waiting<In, Out>[]): Promise<void> {
    try {
      const outs = await this.#options.run(all.map(({ one }) => one));
      all.forEach(({ resolve }, place) => {
        resolve(outs[place] as Out);
      });
    } catch (error) {
      if (all.length > 1 && this.#options.isOfOne(error)) {
        for (const one of all) await this.#commit([one]);
      } else for (const { reject } of all) reject(error);
    }
  }
}
