/** Databases without a template: made, migrated and filled as an operator's are. */

import { randomBytes } from "node:crypto";
import { openDatabase } from "../../../src/store/database.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { createDatabase, urlOf } from "../../harness/databases.ts";
import { sql } from "../../postgres/support/sql.ts";
import { COUNT } from "./program.ts";

/** An empty, migrated database on that server; answers its URL. */
export async function migratedDatabase(server: string): Promise<string> {
  const name = `r_${randomBytes(8).toString("hex")}`;
  await createDatabase(server, name, null);
  const url = urlOf(server, name);
  const database = openDatabase(url, 2, () => {});
  await migrate(database);
  await database.close();
  return url;
}

/** The same with items and notes, as rows: how they came about does not matter here. */
export async function backlogDatabase(server: string): Promise<string> {
  const url = await migratedDatabase(server);
  await sql(
    url,
    `insert into repository (id, owner, name, settings) values (5, 'acme', 'widgets', '{"poisonThreshold": 1000}');
     insert into issue (repository_id, number, id, title, state, html_url, created_at, updated_at)
       select 5, n, n, 'Work', 'open', 'https://github.com/acme/widgets/issues/' || n, now(), now()
       from generate_series(1, ${COUNT}) n;
     insert into item (repository_id, number, admitted, admission_at, created_at)
       select 5, n, true, now(), now() from generate_series(1, ${COUNT}) n;
     insert into record (repository_id, topic, id, kind, tags)
       select 5, 'backlog', 'issue-' || n, 'Note',
         '{backlog,priority:P2,phase:implementation,baseBranch:main,homeRegion:local}'
       from generate_series(1, ${COUNT}) n;
     insert into record (repository_id, topic, id, kind)
       select 5, 'locks', 'slot-' || n, 'Note' from generate_series(1, ${COUNT}) n`,
  );
  return url;
}

/** The token that the bare sequence gives next, as if nothing watched over it. */
export async function bareToken(url: string): Promise<number> {
  const [row] = await sql(url, "select nextval('fence')::float8 as token");
  return Number(row?.token);
}
