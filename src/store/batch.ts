/**
 * Asks the database for many at once what many ask it for at the same time. A commit costs more than all else that a
 * claim does, and those who share one share its cost.
 *
 * What must hold: who comes while nothing is under way is not kept waiting, and nobody waits for what concerns another.
 * So a batch takes no lock that is not to be had at once: what needs one is answered null, and asked alone, beside the
 * batches. A batch is one transaction: if it fails, nothing of it was done, and each is asked alone, so that what is wrong
 * with one fails that one. Only when the connection broke nobody knows, and all are told so.
 */

import { isConnectionLost } from "./failure.ts";

/** As many are under way at once: while one waits for the disk, the next is worked on. */
const MOST_UNDER_WAY = 1;
/** Locks are held, and everybody in it waits, until a batch has been committed. */
const MOST_IN_ONE = 32;

interface Waiting<Question, Answer> {
  readonly question: Question;
  resolve(answer: Answer | Promise<Answer>): void;
  reject(error: unknown): void;
}

export class Batches<Question, Answer> {
  readonly #together: (questions: readonly Question[]) => Promise<readonly (Answer | null)[]>;
  readonly #alone: (question: Question) => Promise<Answer>;
  readonly #waiting: Waiting<Question, Answer>[] = [];
  #underWay = 0;
  #isGathering = false;

  /** `together` answers each question in its place, in one transaction, or null: it is to be asked `alone`. */
  constructor(
    together: (questions: readonly Question[]) => Promise<readonly (Answer | null)[]>,
    alone: (question: Question) => Promise<Answer>,
  ) {
    this.#together = together;
    this.#alone = alone;
  }

  /** The answer to this question. Throws what asking it threw. */
  ask(question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ question, resolve, reject });
      this.#gather();
    });
  }

  /** Sends when all have asked who are about to: answers to one batch, or requests that came together, ask together. */
  #gather(): void {
    if (this.#isGathering || this.#underWay >= MOST_UNDER_WAY) return;
    this.#isGathering = true;
    setImmediate(() => {
      this.#isGathering = false;
      this.#send();
    });
  }

  #send(): void {
    while (this.#underWay < MOST_UNDER_WAY && this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MOST_IN_ONE);
      this.#underWay += 1;
      void this.#settle(batch).finally(() => {
        this.#underWay -= 1;
        if (this.#waiting.length > 0) this.#gather();
      });
    }
  }

  /** Resolves when the batch is over; who is asked alone after it is not waited for. */
  async #settle(batch: readonly Waiting<Question, Answer>[]): Promise<void> {
    let answers: readonly (Answer | null)[] = [];
    try {
      answers = await this.#together(batch.map(({ question }) => question));
    } catch (error) {
      if (!wasUndone(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
    }
    for (const [index, { question, resolve }] of batch.entries()) {
      resolve(answers[index] ?? this.#alone(question));
    }
  }
}

/** PostgreSQL said that it failed, and so it did nothing of it. */
const wasUndone = (error: unknown): boolean =>
  !isConnectionLost(error) && /^[0-9A-Z]{5}$/.test((error as { code?: string } | null)?.code ?? "");
