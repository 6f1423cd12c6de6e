/**
 * How many requests a second a token may send. Each process counts for itself: it is there so that a worker that has lost
 * its mind does not take a server from the others, and a fleet of n processes takes up to n times as many. Nothing that
 * decides hangs on it.
 */

import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { Problem } from "../../contract/problem.ts";
import { ADMIN, type Caller } from "../../services/caller.ts";

export class RequestLimiter {
  readonly #limiter: RateLimiterMemory;
  readonly #perSecond: number;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#limiter = new RateLimiterMemory({ points: perSecond, duration: 1 });
  }

  /** Throws `rate_limited`, with when to come back. The bootstrap token is the operator's own, and has no limit. */
  async assertUnder(caller: Caller): Promise<void> {
    if (caller.actor === ADMIN.actor) return;
    try {
      await this.#limiter.consume(caller.actor);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      throw new Problem(
        "rate_limited",
        `this token has sent ${this.#perSecond} requests within a second, which is its limit; wait, and send fewer`,
        { retryAfterMs: Math.max(1, refusal.msBeforeNext) },
      );
    }
  }
}
