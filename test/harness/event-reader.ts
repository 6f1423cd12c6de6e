/** A client that follows events, and keeps what it got. */

import { waitFor } from "./wait-for.ts";

export interface GotFrame {
  readonly id: string | null;
  /** Null: no event for the client, only its place or a comment. */
  readonly event: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every type
  readonly data: any;
  readonly comment: string | null;
}

export interface ReaderOptions {
  readonly token: string;
  /** `repo=…&types=…` */
  readonly query?: string;
  readonly lastEventId?: string | null;
}

export class EventReader {
  readonly frames: GotFrame[] = [];
  /** As a browser keeps it. */
  lastEventId: string | null;
  /** The server has ended the stream. */
  isOver = false;
  readonly #left = new AbortController();
  #rest = "";

  private constructor(lastEventId: string | null) {
    this.lastEventId = lastEventId;
  }

  /** Resolves when the stream has begun: it is known from where it is followed. */
  static async open(address: string, options: ReaderOptions): Promise<EventReader> {
    const { token, query = "", lastEventId = null } = options;
    const reader = new EventReader(lastEventId);
    const response = await fetch(`${address}/api/v1/events?${query}`, {
      headers: {
        authorization: `Bearer ${token}`,
        ...(lastEventId === null ? {} : { "last-event-id": lastEventId }),
      },
      signal: reader.#left.signal,
    });
    if (response.status !== 200 || response.body === null)
      throw new Error(`${response.status}: ${await response.text()}`);
    void reader.#read(response.body);
    await waitFor("the stream to begin", () =>
      reader.frames.some(({ id }) => id !== null) ? null : "no id came",
    );
    return reader;
  }

  /** Events, without what only tells a place. */
  get events(): GotFrame[] {
    return this.frames.filter(({ event }) => event !== null);
  }

  get types(): string[] {
    return this.events.map(({ event }) => event ?? "");
  }

  /** Waits for an event, got already or not, and answers its data. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every type
  async heard(type: string, matches: (data: any) => boolean = () => true, deadlineMs = 10_000): Promise<any> {
    const find = () => this.events.find(({ event, data }) => event === type && matches(data));
    await waitFor(
      `${type} to be heard`,
      () =>
        find()
          ? null
          : `heard so far: ${this.events.map(({ event, data }) => `${event} #${data?.number}`).join(", ")}`,
      deadlineMs,
    );
    return find()?.data;
  }

  async ended(): Promise<void> {
    await waitFor("the stream to end", () => (this.isOver ? null : "it is open"), 12_000);
  }

  leave(): void {
    this.#left.abort();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    try {
      const decoder = new TextDecoder();
      for await (const bytes of body) {
        const blocks = (this.#rest + decoder.decode(bytes, { stream: true })).split("\n\n");
        this.#rest = blocks.pop() ?? "";
        for (const block of blocks) this.#take(block);
      }
    } catch (error) {
      if (!this.#left.signal.aborted && !/terminated|aborted/.test(String(error))) throw error;
    } finally {
      this.isOver = true;
    }
  }

  #take(block: string): void {
    const fields = block.split("\n").map((line) => /^([^:]*): ?(.*)$/.exec(line) ?? [line, line, ""]);
    const of = (name: string): string[] =>
      fields.filter(([, field]) => field === name).map(([, , value]) => value ?? "");
    const data = of("data");
    const id = of("id")[0] ?? null;
    if (id !== null) this.lastEventId = id;
    this.frames.push({
      id,
      event: of("event")[0] ?? null,
      data: data.length === 0 ? null : JSON.parse(data.join("\n")),
      comment: of("")[0] ?? null,
    });
  }
}
