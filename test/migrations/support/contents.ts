/** What a database holds: its tables with every row, to be compared before and after. */

import type { Pool } from "pg";

export type Row = Readonly<Record<string, unknown>>;
export type Contents = ReadonlyMap<string, readonly Row[]>;

/** Our own tables, without the migrator's. */
export async function tableNames(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename not like 'schema\\_migration%'
     order by 1`,
  );
  return rows.map(({ name }) => name);
}

export async function contentsOf(pool: Pool): Promise<Contents> {
  const contents = new Map<string, Row[]>();
  for (const table of await tableNames(pool)) {
    const { rows } = await pool.query<{ row: Row }>(`select to_jsonb(t) as row from "${table}" t`);
    contents.set(
      table,
      rows.map(({ row }) => row),
    );
  }
  return contents;
}

/** The rows of `before` that `after` lacks, by the columns that are still there. */
export function lostRows(before: Contents, after: Contents): { table: string; row: Row }[] {
  const lost: { table: string; row: Row }[] = [];
  for (const [table, rows] of before) {
    const there = after.get(table) ?? [];
    for (const row of rows) if (!there.some((other) => continues(row, other))) lost.push({ table, row });
  }
  return lost;
}

const continues = (before: Row, after: Row): boolean =>
  Object.entries(before).every(
    ([column, value]) => !(column in after) || JSON.stringify(after[column]) === JSON.stringify(value),
  );
