/** The newest events, in memory once for all who follow: however many they are, and however slow, it grows no further. */

import type { LogEvent } from "../domain/events.ts";

/** Events that became known together. The same array for everybody, so that what is found out of it is found once. */
export interface Batch {
  readonly events: readonly LogEvent[];
  /** Everything up to this number is in this batch or an earlier one. */
  readonly last: number;
}

export class EventWindow {
  readonly #most: number;
  readonly #batches: Batch[] = [];
  #size = 0;
  #floor: number;
  #head: number;

  /** `head`: the number after which it begins. It keeps the newest batch, and what else fits into `most` events. */
  constructor(head: number, most: number) {
    this.#floor = head;
    this.#head = head;
    this.#most = most;
  }

  /** The last number that is known here. */
  get head(): number {
    return this.#head;
  }

  add(batch: Batch): void {
    this.#batches.push(batch);
    this.#size += batch.events.length;
    this.#head = batch.last;
    while (this.#size > this.#most && this.#batches.length > 1) {
      const oldest = this.#batches.shift();
      if (!oldest) return;
      this.#size -= oldest.events.length;
      this.#floor = oldest.last;
    }
  }

  /** What follows a number: the next batch, nothing yet, or `behind`: it is not here any more. */
  after(position: number): Batch | "behind" | null {
    if (position < this.#floor) return "behind";
    if (position >= this.#head) return null;
    const batch = this.#batches[this.#firstAfter(position)];
    if (!batch) return null;
    const begin = batch.events.findIndex(({ id }) => id > position);
    // Whoever began in the middle of a batch.
    return begin <= 0 ? batch : { events: batch.events.slice(begin), last: batch.last };
  }

  #firstAfter(position: number): number {
    let low = 0;
    let high = this.#batches.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#batches[middle]?.last ?? 0) > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
