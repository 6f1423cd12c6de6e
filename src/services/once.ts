/** A write asked for twice under one idempotency key happens once (api.md, "Errors"). */

import { createHash } from "node:crypto";
import { Problem } from "../contract/problem.ts";
import { inTransaction } from "../store/database.ts";
import {
  type AnsweredGrant,
  type AnswerKey,
  findAnswer,
  type KeptAnswer,
  keepAnswer,
  lockAnswer,
} from "../store/kept-answers.ts";
import type { Deps, Wake } from "./deps.ts";

/** Thrown in place of doing it again: the answer of the first time, byte for byte. */
export class Replayed extends Error {
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    super("answered from what was kept");
    this.name = "Replayed";
    this.status = status;
    this.body = body;
  }
}

export interface Outcome<T> {
  readonly result: T;
  /** Null: a refusal, which is not kept. */
  readonly kept: {
    readonly status: number;
    readonly answer: unknown;
    readonly grant: AnsweredGrant | null;
  } | null;
}

/** What is answered in place of a grant that is not the record's current one any more, from the answer that was kept. */
export type Superseded = (kept: string) => unknown;

const refusedClaim: Superseded = (kept) => {
  const { key } = JSON.parse(kept) as { key: string };
  return { granted: false, key, reason: "superseded", blockers: [] };
};

export class Once {
  readonly #deps: Deps;
  readonly #key: AnswerKey;
  readonly #print: (status: number, answer: unknown) => string;
  readonly #superseded: Superseded;

  /** `print` turns an answer into the text that is sent. */
  constructor(
    deps: Deps,
    key: AnswerKey,
    print: (status: number, answer: unknown) => string,
    superseded: Superseded = refusedClaim,
  ) {
    this.#deps = deps;
    this.#key = key;
    this.#print = print;
    this.#superseded = superseded;
  }

  /** For the part in this place of a request whose parts are done each by itself: as if each had a key of its own. */
  part(index: number): Once {
    const digest = createHash("sha256").update(`${this.#key.key}/${index}`).digest("hex").slice(0, 32);
    const key = digest.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    const print = (_: number, answer: unknown): string => JSON.stringify(answer);
    return new Once(this.#deps, { ...this.#key, key }, print, this.#superseded);
  }

  /**
   * Runs `work` in a transaction, in which its answer is kept. `work` gets the dependencies to use there: what it
   * wakes is woken after the commit. Throws `Replayed` when the key has its answer, and `idempotency_mismatch`.
   */
  async run<T>(work: (deps: Deps) => Promise<Outcome<T>>): Promise<T> {
    const woken = new Set<keyof Wake>();
    const result = await inTransaction(this.#deps.db, async (trx) => {
      await lockAnswer(trx, this.#key);
      const kept = await findAnswer(trx, this.#key);
      if (kept) throw this.#again(kept);
      const wake = {
        ...this.#deps.wake,
        inbox: () => void woken.add("inbox"),
        outbox: () => void woken.add("outbox"),
        pulls: () => void woken.add("pulls"),
        anchors: () => void woken.add("anchors"),
      };
      const outcome = await work({ ...this.#deps, db: trx, wake });
      if (outcome.kept) {
        const { status, answer, grant } = outcome.kept;
        await keepAnswer(trx, this.#key, { status, body: this.#print(status, answer), grant });
      }
      return outcome.result;
    });
    if (woken.has("inbox")) this.#deps.wake.inbox();
    if (woken.has("outbox")) this.#deps.wake.outbox();
    if (woken.has("pulls")) this.#deps.wake.pulls();
    if (woken.has("anchors")) this.#deps.wake.anchors();
    return result;
  }

  /** The caller's key. */
  get key(): string {
    return this.#key.key;
  }

  /** Tells the request from others under the same key. */
  get fingerprint(): string {
    return this.#key.fingerprint;
  }

  /** Throws `idempotency_mismatch` if the key has the answer to another request. */
  async assertSame(): Promise<void> {
    const kept = await findAnswer(this.#deps.db, this.#key);
    if (kept && kept.fingerprint !== this.#key.fingerprint) throw this.#again(kept);
  }

  /** Throws if the key has its answer already. */
  async assertNew(): Promise<void> {
    const kept = await findAnswer(this.#deps.db, this.#key);
    if (kept) throw this.#again(kept);
  }

  #again(kept: KeptAnswer): Error {
    if (kept.fingerprint !== this.#key.fingerprint) {
      return new Problem(
        "idempotency_mismatch",
        "this Idempotency-Key was sent with another request within the last 24 hours; use a new UUID for each request",
      );
    }
    if (kept.current) return new Replayed(kept.status, kept.body);
    return new Replayed(200, JSON.stringify(this.#superseded(kept.body)));
  }
}

/** Runs a write whose answer is sent with status 200, under the caller's key if there is one. */
export function runOnce<T>(
  once: Once | null,
  deps: Deps,
  write: (deps: Deps) => Promise<T>,
  isSuccess: (answer: T) => boolean = () => true,
): Promise<T> {
  if (once === null) return write(deps);
  return once.run(async (inside) => {
    const result = await write(inside);
    return { result, kept: isSuccess(result) ? { status: 200, answer: result, grant: null } : null };
  });
}
