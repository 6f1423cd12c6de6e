/**
 * Which repository has a name, remembered for a moment: every request names its repository, and asking the database
 * each time would double what a claim costs.
 *
 * What must hold: a repository that was renamed, moved, installed or configured anew is not served from memory for
 * longer than a second after that was committed, counted from before the question was put. In practice it is
 * milliseconds, because the database tells of such changes (`repository_changed`); the second is for when it cannot.
 * That no repository has a name is never remembered. What decides (claims, the fence) goes by the id, under locks.
 */

import type { RepositoryName } from "../domain/record-key.ts";
import type { Db } from "../store/database.ts";
import { findRepositoryByName, type Repository } from "../store/repositories.ts";

const KEPT_MS = 1_000;
/** More names than this in a second are not worth remembering. */
const MOST_KEPT = 10_000;

interface Kept {
  readonly askedAt: number;
  readonly answer: Promise<Repository | null>;
  /** Set when the answer is there. */
  found: Repository | null;
}

export class KnownNames {
  readonly #kept = new Map<string, Kept>();
  readonly #now: () => number;

  /** `now`: milliseconds of a clock that only goes forward. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The repository that has this name, any case, or null. Asks `db` unless it was asked a moment ago. */
  find(db: Db, { owner, name }: RepositoryName): Promise<Repository | null> {
    const key = `${owner}/${name}`.toLowerCase();
    const askedAt = this.#now();
    const kept = this.#kept.get(key);
    const isFresh = kept !== undefined && askedAt - kept.askedAt < KEPT_MS;
    if (db.isTransaction) {
      // It holds a connection: waiting for a question that may itself wait for one could wait for ever. And what an
      // open transaction sees may never come true, so that is not remembered.
      return isFresh && kept.found ? Promise.resolve(kept.found) : findRepositoryByName(db, owner, name);
    }
    if (isFresh) return kept.answer;
    const answer = findRepositoryByName(db, owner, name);
    const mine: Kept = { askedAt, answer, found: null };
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#kept.set(key, mine);
    const drop = (): void => {
      if (this.#kept.get(key) === mine) this.#kept.delete(key);
    };
    answer.then((found) => {
      mine.found = found;
      if (found === null) drop();
    }, drop);
    return answer;
  }

  /** Something changed, or may have: everything is asked anew. */
  forget(): void {
    this.#kept.clear();
  }
}
