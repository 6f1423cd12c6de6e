/**
 * Calls of functions in the database, by a text that is always the same. Outside a transaction the statement is a
 * prepared one and goes to the pool directly: parsing and planning it, and Kysely's own steps, would cost a fifth of
 * what a claim does.
 */

import { CompiledQuery } from "kysely";
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
