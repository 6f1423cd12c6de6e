/** One clock for GitHub and for the database: it stands still until a test moves it, so that a history can be had again. */

import type pg from "pg";

export class Clock {
  readonly #pool: pg.Pool;
  #at: number;

  private constructor(pool: pg.Pool) {
    this.#pool = pool;
    this.#at = wholeSecond();
  }

  /** Takes the place of the database's clock. */
  static async takeOver(pool: pg.Pool): Promise<Clock> {
    const clock = new Clock(pool);
    await clock.reset();
    return clock;
  }

  now(): Date {
    return new Date(this.#at);
  }

  async pass(seconds: number): Promise<void> {
    this.#at += seconds * 1000;
    await this.#tell();
  }

  /** To the real time: tokens for GitHub are made by it. */
  async reset(): Promise<void> {
    this.#at = wholeSecond();
    await this.#tell();
  }

  async #tell(): Promise<void> {
    // A constant, which PostgreSQL puts in the function's place: a statement may ask for it for each of its rows.
    const at = this.now().toISOString();
    await this.#pool.query(
      `create or replace function db_now() returns timestamptz language sql volatile as $$ select '${at}'::timestamptz $$`,
    );
  }
}

const wholeSecond = (): number => Math.floor(Date.now() / 1000) * 1000;
