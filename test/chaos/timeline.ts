/** The highest token known of at a time: a running maximum over what was certainly so by then. */

export interface Mark {
  readonly atMs: number;
  readonly token: number;
  /** The exchange that shows it. */
  readonly source: string;
}

export class MarkTimeline {
  /** By time, tokens rising. */
  readonly #marks: Mark[] = [];

  constructor(marks: readonly Mark[]) {
    for (const mark of [...marks].sort((a, b) => a.atMs - b.atMs)) {
      const last = this.#marks.at(-1);
      if (!last || mark.token > last.token) this.#marks.push(mark);
    }
  }

  /** The highest mark that was certainly reached before a time. */
  before(ms: number): Mark | null {
    let low = 0;
    let high = this.#marks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#marks[middle]?.atMs ?? Infinity) < ms) low = middle + 1;
      else high = middle;
    }
    return this.#marks[low - 1] ?? null;
  }
}
