/** The database's clock: the only one that decides expiry. Tests set it by replacing `db_now()`. */

import { sql } from "kysely";
import type { Db } from "./database.ts";

/** The time now, as PostgreSQL has it. */
export async function databaseNow(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select db_now() as now`.execute(db);
  const row = rows[0];
  if (!row) throw new Error("PostgreSQL did not tell the time");
  return row.now;
}

export const dbNow = sql<Date>`db_now()`;

/** `db_now()` plus so many seconds. */
export const dbNowPlus = (seconds: number) => sql<Date>`db_now() + make_interval(secs => ${seconds})`;
