/** The connection pool. Every query of the program goes through a `Db` or a `Trx` made here. */

import { Kysely, PostgresDialect, type Transaction } from "kysely";
import pg from "pg";
import { untilNotBrokenOff } from "./failure.ts";
import type { Tables } from "./schema.ts";

export type Db = Kysely<Tables>;
/** A function that takes this needs a transaction, and a plain `Db` does not compile. */
export type Trx = Transaction<Tables>;

export interface Database {
  readonly url: string;
  readonly db: Db;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

// GitHub's ids and our tokens are below 2^53; the pg default, strings, would be compared as text.
const INT8 = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === INT8
      ? Number
      : pg.types.getTypeParser(oid, format as "text")) as pg.CustomTypesConfig["getTypeParser"],
};

/** What our own SQL has to tell the log. */
export interface Notice {
  readonly severity: "warn" | "info";
  readonly message: string;
  readonly detail: string;
}

/** Notices of our own SQL are raised with this SQLSTATE. */
const OWN_NOTICE = "LH001";

/** Longer than a busy pool makes anybody wait; a PostgreSQL that does not answer must not keep callers for ever. */
const CONNECT_MS = 30_000;

/**
 * Opens a pool of at most `size` connections. `onError` hears of idle connections that PostgreSQL closed, `onNotice`
 * of what our own SQL has to say, whether or not its transaction is committed.
 */
export function openDatabase(
  url: string,
  size: number,
  onError: (error: Error) => void,
  onNotice: (notice: Notice) => void = () => {},
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    connectionTimeoutMillis: CONNECT_MS,
    types,
    application_name: "leasehold",
  });
  let closing = false;
  // Without a listener an idle client's error would end the process. While closing, connections may be cut.
  const report = (error: Error): void => {
    if (!closing) onError(error);
  };
  pool.on("error", report);
  pool.on("connect", (client) => {
    client.on("error", report);
    client.on("notice", ({ code, severity, message = "", detail = "" }) => {
      if (code === OWN_NOTICE)
        onNotice({ severity: severity === "WARNING" ? "warn" : "info", message, detail });
    });
  });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  pools.set(db, pool);
  const close = (): Promise<void> => {
    closing = true;
    return db.destroy();
  };
  return { url, db, pool, close };
}

const pools = new WeakMap<Db, pg.Pool>();

/** The pool behind `db`, for single statements on the hot path; null when `db` is a transaction. */
export const poolOf = (db: Db): pg.Pool | null => (db.isTransaction ? null : (pools.get(db) ?? null));

/**
 * Runs `work` in a transaction: in the one that `db` is already, or else in a new one, which is run again when
 * PostgreSQL broke it off. So `work` does nothing but ask PostgreSQL; what else follows comes after.
 */
export const inTransaction = <T>(db: Db, work: (trx: Trx) => Promise<T>): Promise<T> =>
  db.isTransaction ? work(db as Trx) : untilNotBrokenOff(() => db.transaction().execute(work));

/** Whether PostgreSQL answers. */
export async function pingDatabase(database: Database): Promise<boolean> {
  try {
    await database.pool.query("select 1");
    return true;
  } catch {
    return false;
  }
}
