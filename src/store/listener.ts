/**
 * LISTEN on a connection of its own, which reconnects. A notification is a hint, never data: whoever listens also
 * looks now and then, and after every reconnection, for what was missed.
 */

import pg from "pg";

export interface ListenerOptions {
  readonly url: string;
  readonly channels: readonly string[];
  onNotify(channel: string, payload: string): void;
  /** Connected (again): notifications may have been missed. */
  onConnect(): void;
  onError(error: Error): void;
}

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 2_000;

export class Listener {
  readonly #options: ListenerOptions;
  #client: pg.Client | null = null;
  #retryMs = FIRST_RETRY_MS;
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Connects; if that fails, goes on trying in the background. */
  async start(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: "leasehold-listener",
      keepAlive: true,
    });
    this.#client = client;
    client.on("notification", ({ channel, payload }) => this.#options.onNotify(channel, payload ?? ""));
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, null));
    try {
      await client.connect();
      for (const channel of this.#options.channels)
        await client.query(`listen ${client.escapeIdentifier(channel)}`);
      this.#retryMs = FIRST_RETRY_MS;
      this.#options.onConnect();
    } catch (error) {
      this.#lost(client, error as Error);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  /** Once per client, however many ways it tells of its end. */
  #lost(client: pg.Client, error: Error | null): void {
    if (this.#stopped || this.#client !== client) return;
    this.#client = null;
    if (error) this.#options.onError(error);
    client.end().catch(() => {});
    this.#timer = setTimeout(() => void this.start(), this.#retryMs);
    this.#timer.unref();
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }
}
