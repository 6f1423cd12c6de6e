import { HttpError } from "../http-error.ts";
import type { Installation } from "../state/model.ts";
import type { World } from "../state/world.ts";

export type RateLimit = { kind: "primary" | "secondary"; retryAfterSeconds: number; status?: 403 | 429 };

const WINDOW_MS = 3_600_000;

type Window = { used: number; resetsAt: Date };

/**
 * GitHub's two limits, per installation. The primary one counts requests within an hour; its count is
 * shown, and refuses only where a limit was asked for. Tests can switch either on for a while.
 */
export class RateLimits {
  #world: World;
  #perHour: number;
  #enforced: boolean;
  #windows = new Map<number, Window>();
  #limited: { kind: RateLimit["kind"]; until: Date; status: number } | null = null;

  constructor(world: World, perHour: number | undefined) {
    this.#world = world;
    this.#perHour = perHour ?? 5000;
    this.#enforced = perHour !== undefined;
  }

  start(limit: RateLimit): void {
    const until = new Date(this.#world.now().getTime() + limit.retryAfterSeconds * 1000);
    this.#limited = { kind: limit.kind, until, status: limit.status ?? 403 };
  }

  clear(): void {
    this.#limited = null;
  }

  count(installation: Installation): void {
    this.#window(installation).used += 1;
  }

  /** Throws GitHub's refusal when the last request counted was one too many. */
  check(installation: Installation): void {
    const window = this.#window(installation);
    const limited = this.#limited;
    if (limited && limited.until > this.#world.now()) {
      throw limited.kind === "primary"
        ? this.#primaryRefusal(installation, limited.until, limited.status)
        : this.#secondaryRefusal(limited.until, limited.status);
    }
    this.#limited = null;
    if (this.#enforced && window.used > this.#perHour) {
      throw this.#primaryRefusal(installation, window.resetsAt, 403);
    }
  }

  headers(installation: Installation): Record<string, string> {
    const { used, resetsAt } = this.#window(installation);
    const left = this.#perHour - used;
    return this.#limitHeaders(this.#enforced ? Math.max(0, left) : Math.max(1, left), resetsAt);
  }

  #window(installation: Installation): Window {
    const now = this.#world.now().getTime();
    const known = this.#windows.get(installation.id);
    if (known && known.resetsAt.getTime() > now) return known;
    const fresh = { used: 0, resetsAt: new Date(now + WINDOW_MS) };
    this.#windows.set(installation.id, fresh);
    return fresh;
  }

  #primaryRefusal(installation: Installation, until: Date, status: number): HttpError {
    return new HttpError(status, `API rate limit exceeded for installation ID ${installation.id}.`, {
      headers: this.#limitHeaders(0, until),
    });
  }

  #secondaryRefusal(until: Date, status: number): HttpError {
    const seconds = Math.ceil((until.getTime() - this.#world.now().getTime()) / 1000);
    return new HttpError(
      status,
      "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
      { headers: { "retry-after": String(seconds) } },
    );
  }

  #limitHeaders(left: number, resetsAt: Date): Record<string, string> {
    return {
      "x-ratelimit-limit": String(this.#perHour),
      "x-ratelimit-remaining": String(left),
      "x-ratelimit-used": String(this.#perHour - left),
      "x-ratelimit-reset": String(resetsAt.getTime() / 1000),
      "x-ratelimit-resource": "core",
    };
  }
}
