/**
 * What stands in the tables about some repositories, and which transaction wrote each row: a row that is written again as
 * it was counts as written.
 */

import type pg from "pg";

/** The reading's own notes: where it is, and when it was done. */
const OF_THE_READING = ["repository", "reading_seen"];
/** Rows in which the reading keeps notes of its own besides: of these the values count, without the notes. */
const NOTES: Readonly<Record<string, readonly string[]>> = {
  configuration: ["version"],
  pull_request: ["reads", "moved_at", "read_at", "read_due_at", "read_leased_until", "reviews_due"],
};

/** For each table a digest; of those with notes the rows themselves, so that a difference can be told. */
export async function dump(
  pool: pg.Pool,
  repositories: readonly number[],
): Promise<ReadonlyMap<string, string>> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select table_name as name from information_schema.columns c join information_schema.tables t
       using (table_schema, table_name)
     where table_schema = 'public' and column_name = 'repository_id' and table_type = 'BASE TABLE'
       and not table_name = any ($1) order by 1`,
    [OF_THE_READING],
  );
  const each = tables.map(
    ({
      name,
    }) => `select '${name}' as name, ${name in NOTES ? "" : "md5"}(string_agg(${rowOf(name)}, '\n' order by ${rowOf(name)})) as digest
       from "${name}" t where repository_id = any ($1)`,
  );
  const { rows } = await pool.query<{ name: string; digest: string }>(each.join(" union all "), [
    repositories,
  ]);
  return new Map(rows.map(({ name, digest }) => [name, digest]));
}

function rowOf(table: string): string {
  const notes = NOTES[table];
  if (notes === undefined) return "t.xmin::text || t::text";
  return `(to_jsonb(t) - array[${notes.map((name) => `'${name}'`).join(", ")}])::text`;
}

/** The tables that were written to between two dumps, and where it is known what. */
export const written = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] =>
  [...after].flatMap(([name, digest]) => {
    const old = before.get(name);
    if (old === digest) return [];
    if (!(name in NOTES)) return [name];
    const [was, is] = [(old ?? "").split("\n"), (digest ?? "").split("\n")];
    const only = (rows: string[], others: string[]) => rows.filter((row) => !others.includes(row)).join(" ");
    return [`${name}: it was ${only(was, is)} and is ${only(is, was)}`];
  });
