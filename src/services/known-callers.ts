/**
 * Whose a token is, remembered for a moment: asking the database at each call would double what a claim costs.
 *
 * What must hold: a token that was revoked, has expired, or is trusted no more is not honoured from memory for longer
 * than a second after that, counted from before the question was put. In practice revoking takes effect at once, on
 * every replica, because the database tells of it (`api_token`, `repository_changed`), and a token that expires is
 * remembered no longer than it is valid. The second is for when a notification is lost. That a token is not valid is
 * never remembered.
 */

import type { Caller } from "./caller.ts";

const KEPT_MS = 1_000;
/** More tokens than this in a second are not worth remembering. */
const MOST_KEPT = 10_000;

/** A caller, and how long its token is still valid; null: until somebody ends it. */
export interface Identified {
  readonly caller: Caller;
  readonly validMs: number | null;
}

interface Kept {
  askedAt: number;
  keptMs: number;
  readonly answer: Promise<Caller | null>;
}

export class KnownCallers {
  readonly #kept = new Map<string, Kept>();
  readonly #now: () => number;

  /** `now`: milliseconds of a clock that only goes forward. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The caller whose token has this hash; `ask` is asked unless it was a moment ago. Null: it is not valid. */
  find(hash: Buffer, ask: () => Promise<Identified | null>): Promise<Caller | null> {
    const key = hash.toString("base64");
    const askedAt = this.#now();
    const kept = this.#kept.get(key);
    if (kept !== undefined && askedAt - kept.askedAt < kept.keptMs) return kept.answer;
    const asked = ask();
    const mine: Kept = { askedAt, keptMs: KEPT_MS, answer: asked.then((found) => found?.caller ?? null) };
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#kept.set(key, mine);
    const drop = (): void => {
      if (this.#kept.get(key) === mine) this.#kept.delete(key);
    };
    asked.then((found) => {
      if (found === null) drop();
      else if (found.validMs !== null) mine.keptMs = Math.min(KEPT_MS, found.validMs);
    }, drop);
    return mine.answer;
  }

  /** Something ended, or may have: everybody is asked for anew. */
  forget(): void {
    this.#kept.clear();
  }
}
