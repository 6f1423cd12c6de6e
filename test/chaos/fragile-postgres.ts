/** A PostgreSQL that is made to crash, and comes back on the same data at the same address. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/postgres/embedded.ts";
import { ELSEWHERE } from "../../src/postgres/home.ts";

export class FragilePostgres {
  readonly #folder: string;
  readonly #durable: boolean;
  #running: EmbeddedPostgres;

  private constructor(folder: string, durable: boolean, running: EmbeddedPostgres) {
    this.#folder = folder;
    this.#durable = durable;
    this.#running = running;
  }

  /** Unless `durable`, it trusts the operating system to outlive it, which it does here. */
  static async start(folder: string, durable: boolean): Promise<FragilePostgres> {
    return new FragilePostgres(folder, durable, await launch(folder, durable));
  }

  get url(): string {
    return this.#running.url;
  }

  /** Immediate shutdown: all sessions are cut, nothing is written down, the next start recovers from the log. */
  async crash(): Promise<void> {
    process.kill(await this.#pid(), "SIGQUIT");
    await this.#running.exited;
  }

  async restart(): Promise<void> {
    const { port, url } = this.#running;
    this.#running = await launch(this.#folder, this.#durable, port);
    if (this.#running.url !== url) throw new Error("PostgreSQL came back at another address");
  }

  async stop(): Promise<void> {
    await this.#running.stop();
  }

  /** The folder where the data really is: root's PostgreSQL may have had to move out. */
  async home(): Promise<string> {
    const elsewhere = await readFile(join(this.#folder, ELSEWHERE), "utf8").catch(() => this.#folder);
    return elsewhere.trim();
  }

  async #pid(): Promise<number> {
    const file = await readFile(join(await this.home(), "cluster", "postmaster.pid"), "utf8");
    return Number(file.split("\n", 1)[0]);
  }
}

function launch(dataDir: string, durable: boolean, port?: number): Promise<EmbeddedPostgres> {
  // Commits still reach the operating system before they are answered: what a crash of PostgreSQL needs.
  const trust = durable ? {} : { fsync: "off", full_page_writes: "off" };
  // For tests that hold a lock through the whole of an outage.
  const settings = { ...trust, max_prepared_transactions: "2" };
  return startEmbeddedPostgres({
    dataDir,
    ...(port === undefined ? {} : { port }),
    settings,
    log: () => {},
  });
}
