/** What pg_dump and pg_restore do, in SQL: npm brings no such programs. Rows and sequences, in one snapshot. */

import { Client } from "pg";

export interface Dump {
  readonly tables: ReadonlyMap<string, { readonly columns: string; readonly rows: string }>;
  readonly sequences: readonly { name: string; at: string; called: boolean }[];
}

async function on<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export const takeDump = (url: string): Promise<Dump> =>
  on(url, async (client) => {
    await client.query("begin isolation level repeatable read read only");
    const { rows: names } = await client.query<{ name: string; columns: string }>(
      `select c.relname as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname not like 'schema\\_migration%'
         and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
       group by 1`,
    );
    const tables = new Map<string, { columns: string; rows: string }>();
    for (const { name, columns } of names) {
      const { rows } = await client.query<{ rows: string }>(
        // As text: numbers of 64 bits would be rounded on their way through JavaScript.
        `select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as rows from "${name}" t`,
      );
      tables.set(name, { columns, rows: rows[0]?.rows ?? "[]" });
    }
    const { rows: sequences } = await client.query<{ name: string; at: string; called: boolean }>(
      `select sequencename as name, coalesce(last_value, start_value)::text as at, last_value is not null as called
       from pg_sequences where schemaname = 'public'`,
    );
    return { tables, sequences };
  });

/** Into a database that was migrated and has no rows of its own. */
export const restoreDump = (url: string, { tables, sequences }: Dump): Promise<void> =>
  on(url, async (client) => {
    await client.query("begin");
    await client.query("set local session_replication_role = replica");
    for (const [name, { columns, rows }] of tables) {
      // Migrations leave a row in some.
      await client.query(`delete from "${name}"`);
      await client.query(
        `insert into "${name}" (${columns}) overriding system value
         select ${columns} from jsonb_populate_recordset(null::public."${name}", $1)`,
        [rows],
      );
    }
    for (const { name, at, called } of sequences) {
      await client.query("select setval(quote_ident($1)::regclass, $2, $3)", [name, at, called]);
    }
    await client.query("commit");
  });
