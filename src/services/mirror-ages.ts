/**
 * How old the mirrors are, remembered for a moment: each claim asks, and the answer may be a second late, for limits are
 * a minute at least.
 */

import { isMirrorStale, type MirrorAge, staleText } from "../domain/mirror-age.ts";
import type { Db } from "../store/database.ts";
import { mirrorAge } from "../store/mirror-age.ts";
import type { Repository } from "../store/repositories.ts";

const KEPT_MS = 1_000;
/** More repositories than this in a second are not worth remembering. */
const MOST_KEPT = 10_000;

interface Kept {
  readonly askedAt: number;
  readonly answer: Promise<MirrorAge | null>;
}

export class MirrorAges {
  readonly #db: Db;
  readonly #kept = new Map<number, Kept>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Why no claim is granted by this mirror, in words; null: claims are granted. */
  async refusal({ id, settings }: Repository, db: Db): Promise<string | null> {
    const limit = settings.refuseClaimsWhenMirrorOlderThanSeconds;
    if (limit === null || id < 0) return null;
    // Who is in a transaction has a connection: to wait there for another could leave none for anybody.
    const age = db.isTransaction ? await mirrorAge(db, id) : await this.#age(id);
    return age !== null && isMirrorStale(age, limit) ? staleText(age, limit) : null;
  }

  /** The clock was set, or a mirror was read: everything is asked anew. */
  forget(): void {
    this.#kept.clear();
  }

  #age(id: number): Promise<MirrorAge | null> {
    const now = performance.now();
    const kept = this.#kept.get(id);
    if (kept !== undefined && now - kept.askedAt < KEPT_MS) return kept.answer;
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const answer = mirrorAge(this.#db, id);
    this.#kept.set(id, { askedAt: now, answer });
    answer.catch(() => this.#kept.delete(id));
    return answer;
  }
}
