/** A pool whose process can die between two statements: what was committed stays, a transaction under way is rolled back. */

import type pg from "pg";
import { type Database, openDatabase } from "../../src/store/database.ts";

export class ProcessDied extends Error {
  constructor() {
    super("the process died here");
    this.name = "ProcessDied";
  }
}

export interface MortalDatabase extends Database {
  /** Dies before the statement after so many. */
  dieAfter(statements: number): void;
  readonly isDead: boolean;
  /** Closes the pool; resolves when PostgreSQL has ended every session of it. */
  bury(): Promise<void>;
}

// pg's own types know a dozen ways to call it.
// biome-ignore lint/suspicious/noExplicitAny: whatever the arguments are, they are passed on
type Query = (...sent: any[]) => any;

export function mortalDatabase(url: string, onDeath: () => void): MortalDatabase {
  const database = openDatabase(url, 4, () => {});
  const sessions = new Set<number>();
  let left = Number.POSITIVE_INFINITY;
  let isDead = false;
  const clients = new Set<pg.PoolClient>();
  const die = (): void => {
    if (isDead) return;
    isDead = true;
    for (const client of clients) streamOf(client).destroy();
    onDeath();
  };
  database.pool.on("connect", (client) => {
    sessions.add(sessionOf(client));
    clients.add(client);
    client.on("end", () => clients.delete(client));
    const query: Query = client.query.bind(client);
    const mortal: Query = (...sent) => {
      left -= 1;
      if (left < 0) die();
      if (!isDead) return query(...named(sent));
      const done: unknown = sent.at(-1);
      if (typeof done !== "function") return Promise.reject(new ProcessDied());
      done(new ProcessDied());
    };
    client.query = mortal as typeof client.query;
  });
  return {
    ...database,
    dieAfter: (statements) => {
      left = statements;
    },
    get isDead() {
      return isDead;
    },
    bury: async () => {
      await database.close().catch(() => {});
      await untilGone(url, [...sessions]);
    },
  };
}

const names = new Map<string, string>();

/** A game asks the same few hundred statements a thousand times: PostgreSQL parses and plans each once. */
function named(sent: readonly unknown[]): readonly unknown[] {
  const [text, values, ...rest] = sent;
  if (typeof text !== "string" || !Array.isArray(values)) return sent;
  const name = names.get(text) ?? `s${names.size}`;
  names.set(text, name);
  return [{ name, text, values }, ...rest];
}

/** A session that is still being ended may hold locks, and what comes next would depend on how fast it goes. */
async function untilGone(url: string, sessions: readonly number[]): Promise<void> {
  const watch = openDatabase(url, 1, () => {});
  try {
    for (;;) {
      const { rows } = await watch.pool.query("select 1 from pg_stat_activity where pid = any ($1)", [
        sessions,
      ]);
      if (rows.length === 0) return;
    }
  } finally {
    await watch.close();
  }
}

const streamOf = (client: pg.PoolClient): { destroy(): void } =>
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream;

const sessionOf = (client: pg.PoolClient): number => (client as unknown as { processID: number }).processID;
