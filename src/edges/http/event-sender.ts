/**
 * Writes what is heard to one client, as it takes it. What must hold: no more is kept for a client that does not read than
 * the buffer of its connection and one piece. Nothing more is asked for until that has gone; and who takes nothing for
 * half a minute is cut off.
 */

import type { ServerResponse } from "node:http";
import { eventBody, type LogEvent } from "../../domain/events.ts";
import type { Heard, Lost } from "../../services/follow-events.ts";
import { encodeFrame } from "./sse-frame.ts";

/** `stalledMs`: how long a client may take nothing before it is cut off. */
const PATIENCE = { keepAliveMs: 15_000, stalledMs: 30_000 };
/** How long the last words of a stream may take to get out. */
const LAST_WORDS_MS = 2_000;
const RECONNECT_MS = 3_000;
/** Events are written together up to this length: a burst is few writes, and little is kept for who does not read. */
const PIECE = 16 * 1024;

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  // A proxy that collects answers would hold events back.
  "x-accel-buffering": "no",
};

/** Encoded once for all streams. */
const frames = new WeakMap<LogEvent, string>();

function frameOf(event: LogEvent): string {
  const known = frames.get(event);
  if (known !== undefined) return known;
  const frame = encodeFrame({ id: event.id, event: event.type, data: JSON.stringify(eventBody(event)) });
  frames.set(event, frame);
  return frame;
}

const lostFrame = (lost: Lost, position: number | null): string =>
  encodeFrame({ id: position, event: "sync.lost", data: JSON.stringify(lost) });

const EXPIRED = encodeFrame({
  event: "auth.expired",
  data: JSON.stringify({ detail: "the token has expired or was revoked: connect again with another one" }),
});

/** Writes to one client. */
export class EventSender {
  readonly #response: ServerResponse;
  readonly #patience: typeof PATIENCE;
  #ended = new AbortController().signal;
  #position = 0;
  /** Resolved when the client takes more, or is gone. */
  #drained: Promise<boolean> | null = null;

  constructor(response: ServerResponse, patience = PATIENCE) {
    this.#response = response;
    this.#patience = patience;
  }

  /** Begins the answer. */
  begin(): void {
    this.#response.writeHead(200, HEADERS);
    this.#response.write(encodeFrame({ retryMs: RECONNECT_MS }));
  }

  /**
   * Sends what is heard until there is nothing more to hear; `ended` cuts a wait for the client short. False: the client
   * does not read, or is gone.
   */
  async send(heard: AsyncIterable<Heard>, ended: AbortSignal): Promise<boolean> {
    this.#ended = ended;
    const keepAlive = setInterval(() => this.#keepAlive(), this.#patience.keepAliveMs);
    // It must not keep the process from ending.
    keepAlive.unref();
    try {
      for await (const news of heard) {
        if (!(await this.#tell(news))) return false;
      }
      return true;
    } finally {
      clearInterval(keepAlive);
    }
  }

  /** The token has ended. */
  expired(): void {
    this.#response.write(EXPIRED);
  }

  /** The client was too slow: it is told, should it read after all. */
  tooSlow(): void {
    const detail =
      "nothing was read for half a minute. Connect again with the Last-Event-ID: what was missed is replayed";
    this.#response.write(lostFrame({ reason: "too_slow", detail }, null));
  }

  /** Ends the answer; who still does not read is cut off. */
  end(): void {
    const response = this.#response;
    if (response.destroyed) return;
    const cut = setTimeout(() => response.destroy(), LAST_WORDS_MS);
    cut.unref();
    response.once("close", () => clearTimeout(cut));
    response.end();
  }

  async #tell(news: Heard): Promise<boolean> {
    if ("lost" in news) {
      this.#position = news.position ?? this.#position;
      return this.#write(lostFrame(news.lost, news.position));
    }
    const isFirst = this.#position === 0;
    let piece = "";
    for (const event of news.events) {
      piece += frameOf(event);
      if (piece.length < PIECE) continue;
      if (!(await this.#write(piece))) return false;
      piece = "";
    }
    this.#position = news.position;
    // Who connects again before the first event must not miss what came between.
    if (isFirst) piece += encodeFrame({ id: news.position });
    return piece === "" || this.#write(piece);
  }

  /** With the place in the log: of a stream that is told of few events it would grow too old to go on from. */
  #keepAlive(): void {
    if (this.#drained === null) void this.#write(encodeFrame({ comment: "still here", id: this.#position }));
  }

  async #write(text: string): Promise<boolean> {
    if (this.#drained !== null && !(await this.#drained)) return false;
    if (this.#response.destroyed) return false;
    if (this.#response.write(text)) return true;
    const drained = this.#drain();
    this.#drained = drained;
    const isRead = await drained;
    if (isRead) this.#drained = null;
    return isRead;
  }

  /** Waits until the client has taken what was written. False: it did not, or is gone. */
  #drain(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const response = this.#response;
    const onDrain = (): void => settle(true);
    const onClose = (): void => settle(false);
    const ended = this.#ended;
    const stalled = setTimeout(() => settle(false), this.#patience.stalledMs);
    stalled.unref();
    const settle = (isRead: boolean): void => {
      clearTimeout(stalled);
      response.off("drain", onDrain);
      response.off("close", onClose);
      ended.removeEventListener("abort", onClose);
      resolve(isRead);
    };
    response.once("drain", onDrain);
    response.once("close", onClose);
    ended.addEventListener("abort", onClose, { once: true });
    return promise;
  }
}
