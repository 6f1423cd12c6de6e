/**
 * Who may set up: a browser that came with the one-time code or the admin token. All of it lies in this process's
 * memory and is good for an hour, as long as GitHub gives to finish the flow; a restart ends it.
 */

import { randomBytes } from "node:crypto";
import { sameSecret, sha256 } from "./auth.ts";

const HOUR_MS = 3_600_000;
const COOKIE = "leasehold_setup";
/** Tabs that one browser may have on their way to GitHub at once. */
const MAX_STATES = 20;

const secret = (): string => randomBytes(32).toString("base64url");

/** A browser that may set up. */
export interface SetupSession {
  /** A value that GitHub must bring back with its code. */
  newState(): string;
  /** Whether the state is this session's. It is used up. */
  takeState(state: string): boolean;
  /** Makes a state that was taken usable again: GitHub was not reached. */
  returnState(state: string): void;
}

export class SetupSessions {
  readonly #now: () => number;
  #code: { readonly value: string; readonly until: number } | null = null;
  /** By the hash of the cookie's value: finding one tells nothing of the others. */
  readonly #sessions = new Map<string, { readonly session: SetupSession; readonly until: number }>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The one-time code of the start-up message. It replaces the one before. */
  issueCode(): string {
    this.#code = { value: secret(), until: this.#now() + HOUR_MS };
    return this.#code.value;
  }

  /** Whether this is the code. It is used up. */
  redeem(code: string): boolean {
    const issued = this.#code;
    if (issued === null || !sameSecret(code, issued.value)) return false;
    this.#code = null;
    return this.#now() < issued.until;
  }

  /** Opens a session and answers its cookie's value. */
  open(): string {
    for (const [key, { until }] of this.#sessions) if (until <= this.#now()) this.#sessions.delete(key);
    const value = secret();
    this.#sessions.set(keyOf(value), { session: newSession(), until: this.#now() + HOUR_MS });
    return value;
  }

  /** The session that a request's `Cookie` header names. */
  find(cookies: string | undefined): SetupSession | null {
    for (const pair of (cookies ?? "").split(";")) {
      const [name, value] = pair.trim().split("=", 2);
      if (name !== COOKIE || !value) continue;
      const found = this.#sessions.get(keyOf(value));
      if (found && this.#now() < found.until) return found.session;
    }
    return null;
  }
}

const keyOf = (value: string): string => sha256(value).toString("hex");

function newSession(): SetupSession {
  const states = new Set<string>();
  return {
    newState: () => {
      const [oldest] = states;
      if (states.size >= MAX_STATES && oldest !== undefined) states.delete(oldest);
      const state = secret();
      states.add(state);
      return state;
    },
    takeState: (state) => states.delete(state),
    returnState: (state) => {
      states.add(state);
    },
  };
}

/** The `Set-Cookie` header of a session. Lax, not strict: GitHub sends the browser back with it. */
export const sessionCookie = (value: string, isHttps: boolean): string =>
  `${COOKIE}=${value}; Path=/setup; HttpOnly; SameSite=Lax; Max-Age=${HOUR_MS / 1000}${isHttps ? "; Secure" : ""}`;
