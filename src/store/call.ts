/**
 * Statements by a text that is always the same: calls of functions in the database, and what is read very often.
 * Outside a transaction they are prepared ones and go to the pool directly: parsing and planning them, and Kysely's own
 * steps, would cost a fifth of what a claim does, and most of what the ready set does.
 */

import { createHash } from "node:crypto";
import { CompiledQuery } from "kysely";
import type pg from "pg";
import { type Db, poolOf } from "./database.ts";
import { untilNotBrokenOff } from "./failure.ts";

export interface FunctionCall {
  /** Names the statement on each connection. */
  readonly name: string;
  /** Of one row with the column `answer`. */
  readonly text: string;
}

/**
 * Calls the function and answers what it does. What PostgreSQL breaks off is run again; in a transaction of the
 * caller's, that one is.
 */
export async function callFunction<T>(
  db: Db,
  { name, text }: FunctionCall,
  parameters: readonly unknown[],
): Promise<T> {
  const values = [...parameters];
  const pool = poolOf(db);
  const { rows } = pool
    ? await untilNotBrokenOff(() => pool.query<{ answer: T }>({ name, text, values }))
    : await db.executeQuery<{ answer: T }>(CompiledQuery.raw(text, values));
  const [row] = rows;
  if (!row) throw new Error(`${name} answered nothing`);
  return row.answer;
}

/**
 * The rows of a reading statement, prepared on each connection. Its text must not hold what changes from call to call,
 * or every call would leave another statement behind; nor may it read `*`, which changes with the next migration.
 */
export async function preparedRows<T>(db: Db, { sql, parameters }: CompiledQuery<T>): Promise<T[]> {
  const pool = poolOf(db);
  if (pool === null) return (await db.executeQuery<T>(CompiledQuery.raw(sql, [...parameters]))).rows;
  const query = { name: nameOf(sql), text: sql, values: [...parameters] };
  return (await untilNotBrokenOff(() => pool.query<T & pg.QueryResultRow>(query))).rows;
}

const names = new Map<string, string>();

/** Statements are known by name, which PostgreSQL cuts off after 63 bytes. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = createHash("sha256").update(text).digest("hex").slice(0, 32);
  names.set(text, name);
  return name;
}
