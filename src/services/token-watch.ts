/**
 * Tells when the token of a caller ends, so that whoever holds something open for it (a place in a line, a stream of
 * events) lets go.
 *
 * What must hold: a revoked token ends what it holds open at once, on every replica: the database tells of it
 * (`api_token`). When that notification is lost, and for a token that expires, within a second and a half: as long as
 * anything is watched it is asked every second, by the database's clock. When the database cannot be asked, nothing is
 * ended, and nobody is let in either.
 */

import type { Logger } from "pino";
import type { Db } from "../store/database.ts";
import { endedTokens } from "../store/tokens.ts";
import type { Caller } from "./caller.ts";

const LOOK_MS = 1_000;

interface Watched {
  readonly actor: string;
  readonly expiresAt: Date | null;
  readonly ended: AbortController;
}

export class TokenWatch {
  readonly #db: Db;
  readonly #log: Logger;
  /** One for a token, however much is open for it. */
  readonly #watched = new Map<string, Watched>();
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  #again = false;

  constructor(db: Db, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Aborted when the caller's token has expired or was revoked; never, for the bootstrap admin token. */
  onEnd({ actor, expiresAt }: Caller): AbortSignal {
    const key = `${actor} ${expiresAt?.getTime() ?? ""}`;
    const known = this.#watched.get(key);
    if (known) return known.ended.signal;
    const ended = new AbortController();
    // It cannot end: nothing is to be asked about it.
    if (tokenOf(actor) === null && expiresAt === null) return ended.signal;
    this.#watched.set(key, { actor, expiresAt, ended });
    return ended.signal;
  }

  /** Asks which of the watched tokens have ended. One look at a time; a call during one has another follow. */
  look(): Promise<void> {
    if (this.#looking) {
      this.#again = true;
      return this.#looking;
    }
    const looking = this.#look().finally(() => {
      this.#looking = null;
    });
    this.#looking = looking;
    return looking;
  }

  async #look(): Promise<void> {
    do {
      this.#again = false;
      if (this.#watched.size === 0) return;
      try {
        const ids = [...this.#watched.values()].flatMap(({ actor }) => tokenOf(actor) ?? []);
        const { ended, now } = await endedTokens(this.#db, ids);
        const gone = new Set(ended);
        for (const [key, { actor, expiresAt, ended: controller }] of this.#watched) {
          const isOver = (expiresAt !== null && expiresAt <= now) || gone.has(tokenOf(actor) ?? "");
          if (!isOver) continue;
          this.#watched.delete(key);
          controller.abort();
        }
      } catch (error) {
        this.#log.warn({ reason: (error as Error).message }, "it could not be asked which tokens ended");
      }
    } while (this.#again);
  }
}

const TOKEN_ACTOR = /^token\/([0-9a-f-]{36})$/;

/** The token that an actor is, or null. */
const tokenOf = (actor: string): string | null => TOKEN_ACTOR.exec(actor)?.[1] ?? null;
