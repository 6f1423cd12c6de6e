/** Calls of functions in the database by a text that is always the same: nothing of it is put together anew each time. */

import { CompiledQuery } from "kysely";
import type { Db } from "./database.ts";
import { untilNotBrokenOff } from "./failure.ts";

/**
 * Runs a statement of one row and one column, and answers that. What PostgreSQL breaks off is run again; in a
 * transaction of the caller's, that one is.
 */
export async function callFunction<T>(db: Db, text: string, parameters: readonly unknown[]): Promise<T> {
  const query = () => db.executeQuery<{ answer: T }>(CompiledQuery.raw(text, [...parameters]));
  const { rows } = await (db.isTransaction ? query() : untilNotBrokenOff(query));
  const [row] = rows;
  if (!row) throw new Error(`"${text}" answered nothing`);
  return row.answer;
}
