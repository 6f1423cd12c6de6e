/**
 * One process's view of the event log, for all streams that it serves.
 *
 * What must hold: every stream sees every event that it may see, in the order of the log, once. So nothing is handed to
 * a stream: each has a position, and asks for what follows it, from the window of the newest events or, where it is
 * behind that, from the log. Every look asks how far the log goes, and reads up to there. A look also gives numbers to
 * what was committed since (`number_events`), so that it does not matter which process made the change. While somebody
 * follows, it is looked twenty times a second: a notification in the transaction of each claim would make the commits of
 * claims wait for each other. That events got numbers is notified, and is a hint to read, not to look: numbering what came
 * meanwhile would be notified in turn.
 */

import type { Logger } from "pino";
import { Problem } from "../contract/problem.ts";
import { itemsOf, type LogEvent, within } from "../domain/events.ts";
import type { Scope } from "../domain/scope.ts";
import type { Db } from "../store/database.ts";
import { hasEventsSince, lastEvent, numberEvents, reachedOf, readEvents } from "../store/event-log.ts";
import { type Batch, EventWindow } from "./event-window.ts";
import { Turns } from "./turns.ts";

const FOLLOWED_LOOK_MS = 50;
const IDLE_LOOK_MS = 1_000;
const AT_ONCE = 500;
/** A reader may be so many events behind the others of this process. */
const WINDOW = 10_000;
/** Each holds a connection of its client and its place in the log. */
const MOST_STREAMS = 4_000;
/** How many streams may ask the database at once: its connections are for claims first. */
const MOST_QUESTIONS = 4;

type What = "look" | "read";

export class EventFeed {
  readonly #db: Db;
  readonly #log: Logger;
  readonly #turns = new Turns(MOST_QUESTIONS);
  readonly #waiting = new Set<() => void>();
  readonly #stopping = new AbortController();
  /** What scopes reach of a batch, asked once for all streams of one scope. */
  readonly #reached = new WeakMap<readonly LogEvent[], Map<string, Promise<LogEvent[]>>>();
  #window = new EventWindow(0, WINDOW);
  #epoch = 0;
  #streams = 0;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  /** What is to be done when the look under way is over. */
  #again: What | null = null;
  #isAway = false;

  constructor(db: Db, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  /** Begins to number events, whether or not anybody follows. */
  async start(): Promise<void> {
    await this.look();
    this.#arm();
  }

  /** Every stream ends. Events that have no number yet get it from another process, or from the next. */
  stop(): void {
    this.#stopping.abort();
    if (this.#timer) clearTimeout(this.#timer);
    this.#wake();
  }

  /** Aborted when the process ends. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** The last number that is known here: what is committed from now on comes after it. */
  get head(): number {
    return this.#window.head;
  }

  /** Goes up when what was told before is not in the log any more: another, older database has taken its place. */
  get epoch(): number {
    return this.#epoch;
  }

  get streams(): number {
    return this.#streams;
  }

  /** A stream begins; the function that is answered ends it. Throws `unavailable` when there are too many. */
  async open(): Promise<() => void> {
    if (this.#stopping.signal.aborted) throw tooMany("this process is about to end");
    if (this.#streams >= MOST_STREAMS) throw tooMany(`this process serves ${MOST_STREAMS} streams already`);
    this.#streams += 1;
    let isOpen = true;
    // It begins where the log is now, not where it was when nobody followed.
    await this.look();
    this.#arm();
    return () => {
      if (isOpen) this.#streams -= 1;
      isOpen = false;
    };
  }

  /** What follows a place in the log (`EventWindow`). */
  after(position: number): Batch | "behind" | null {
    return this.#window.after(position);
  }

  /** Runs a question that one stream puts to the database when it is its turn. */
  ask<T>(question: (db: Db) => Promise<T>): Promise<T> {
    return this.#turns.run(() => question(this.#db));
  }

  /** Those of the events that the scope may be told of, as things are now. */
  visible(events: readonly LogEvent[], scope: Scope | null): Promise<readonly LogEvent[]> {
    if (scope === null || events.length === 0) return Promise.resolve(events);
    const known = this.#reached.get(events) ?? new Map<string, Promise<LogEvent[]>>();
    this.#reached.set(events, known);
    const name = JSON.stringify(scope);
    const before = known.get(name);
    if (before) return before;
    const answer = this.ask(async (db) => within(events, await reachedOf(db, scope, itemsOf(events))));
    known.set(name, answer);
    answer.catch(() => known.delete(name));
    return answer;
  }

  /** Resolves when there may be more than before, when the process ends, or when `ended` is aborted. */
  changed(ended: AbortSignal): Promise<void> {
    if (ended.aborted || this.#stopping.signal.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => {
      this.#waiting.delete(wake);
      ended.removeEventListener("abort", wake);
      resolve();
    };
    this.#waiting.add(wake);
    ended.addEventListener("abort", wake, { once: true });
    return promise;
  }

  /** The connection that listens was lost and is back: perhaps to another database. */
  async reconnected(): Promise<void> {
    const { head } = this;
    const answer = await hasEventsSince(this.#db, head).catch(() => "known");
    if (answer === "unknown" && head === this.head) this.#startAnew(head);
    await this.look();
  }

  /** Numbers and reads what was committed since. One look at a time; a call during one has another follow. */
  look(): Promise<void> {
    return this.#run("look");
  }

  /** Events got numbers, here or in another process: they are read, if anybody follows. As `look`, one at a time. */
  read(): Promise<void> {
    return this.#streams === 0 ? Promise.resolve() : this.#run("read");
  }

  #run(what: What): Promise<void> {
    if (this.#looking) {
      if (this.#again !== "look") this.#again = what;
      return this.#looking;
    }
    const looking = this.#look(what).finally(() => {
      this.#looking = null;
    });
    this.#looking = looking;
    return looking;
  }

  async #look(what: What): Promise<void> {
    let next: What | null = what;
    while (next !== null) {
      this.#again = null;
      try {
        if (next === "look") await this.#number();
        else await this.#readUpTo(await lastEvent(this.#db));
        this.#isAway = false;
      } catch (error) {
        if (!this.#isAway && !this.#stopping.signal.aborted) {
          const reason = (error as Error).message;
          this.#log.warn({ reason }, "the event log could not be read; streams wait until it can");
        }
        this.#isAway = true;
      }
      next = this.#stopping.signal.aborted ? null : this.#again;
    }
  }

  async #number(): Promise<void> {
    let numbered: number;
    do {
      const answer = await numberEvents(this.#db, AT_ONCE);
      numbered = answer.numbered;
      await this.#readUpTo(answer.last);
    } while (numbered === AT_ONCE && !this.#stopping.signal.aborted);
  }

  async #readUpTo(last: number): Promise<void> {
    if (last < this.head) this.#startAnew(last);
    if (this.#streams === 0) {
      // Nobody asks for what was before.
      if (last > this.head) this.#window = new EventWindow(last, WINDOW);
      return;
    }
    while (this.head < last) {
      const page = { after: this.head, through: last, limit: AT_ONCE, repositoryIds: null, types: null };
      const events = await readEvents(this.#db, page);
      const end = events.length < AT_ONCE ? last : (events.at(-1)?.id ?? last);
      this.#window.add({ events, last: end });
      this.#wake();
    }
  }

  #startAnew(head: number): void {
    this.#log.warn({ head: this.head }, "the event log is not the one that was followed; streams are told");
    this.#window = new EventWindow(head, WINDOW);
    this.#epoch += 1;
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #arm(): void {
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#stopping.signal.aborted) return;
    const ms = this.#streams > 0 ? FOLLOWED_LOOK_MS : IDLE_LOOK_MS;
    this.#timer = setTimeout(() => void this.look().finally(() => this.#arm()), ms);
    this.#timer.unref();
  }
}

const tooMany = (why: string): Problem =>
  new Problem("unavailable", `${why}: connect again in a moment, to another one if there is`, {
    retryAfterMs: 5_000,
  });
