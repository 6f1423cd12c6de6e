/** The databases of the bench: made, filled in bulk, and brought back to a state without claims between slices. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "../../src/postgres/embedded.ts";
import { openDatabase } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import { createDatabase, dropDatabase, urlOf } from "../../test/harness/databases.ts";

export const REPOSITORY = 10;

export interface Stage {
  readonly version: string;
  /** A migrated database with so many items, all of them free. */
  backlog(name: string, items: number): Promise<string>;
  /** A migrated database without anything in it. */
  migrated(name: string): Promise<string>;
  /** An empty database. */
  empty(name: string): Promise<string>;
  end(): Promise<void>;
}

/** PostgreSQL at its defaults: what it says it committed is on the disk. */
export async function setStage(databaseUrl: string | null): Promise<Stage> {
  const folder = databaseUrl === null ? await mkdtemp(join(tmpdir(), "leasehold-bench-")) : null;
  const postgres =
    folder === null
      ? null
      : await startEmbeddedPostgres({ dataDir: folder, settings: { max_wal_size: "1GB" }, log: () => {} });
  const server = postgres?.url ?? databaseUrl ?? "";
  const made: string[] = [];
  const empty = async (name: string): Promise<string> => {
    await dropDatabase(server, `bench_${name}`);
    await createDatabase(server, `bench_${name}`, null);
    made.push(`bench_${name}`);
    return urlOf(server, `bench_${name}`);
  };
  const migrated = async (name: string): Promise<string> => {
    const url = await empty(name);
    const database = openDatabase(url, 2, () => {});
    await migrate(database);
    await database.close();
    return url;
  };
  const { rows } = await query<{ version: string }>(server, "show server_version as version").catch(() =>
    query<{ version: string }>(server, "select current_setting('server_version') as version"),
  );
  return {
    version: rows[0]?.version ?? "",
    empty,
    migrated,
    backlog: async (name, items) => {
      const url = await migrated(name);
      await fill(url, items);
      return url;
    },
    end: async () => {
      for (const name of made) await dropDatabase(server, name);
      await postgres?.stop();
      if (folder !== null) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** In bulk and without triggers: what they would keep on the rows is written along. */
async function fill(url: string, items: number): Promise<void> {
  const settings = { poisonThreshold: 1_000_000 };
  await query(
    url,
    `set session_replication_role = replica;
    insert into installation (id, account_login) values (1, 'acme');
    insert into repository (id, installation_id, owner, name, installed, settings)
      values (${REPOSITORY}, 1, 'acme', 'widgets', true, '${JSON.stringify(settings)}');
    insert into issue (repository_id, number, id, title, state, html_url, created_at, updated_at)
      select ${REPOSITORY}, n, n, 'Issue ' || n, 'open', 'https://github.com/acme/widgets/issues/' || n, now(), now()
      from generate_series(1, ${items}) n;
    insert into record (repository_id, topic, id, kind, tags)
      select ${REPOSITORY}, 'backlog', 'issue-' || n, 'Note',
        '{backlog,priority:P2,phase:implementation,homeRegion:local,baseBranch:main}' from generate_series(1, ${items}) n;
    insert into item (repository_id, number, admitted, admission_at, created_at, home_region, priority, phase, tags, title, url)
      select ${REPOSITORY}, n, true, now(), now(), 'local', 2, 'implementation',
        '{backlog,priority:P2,phase:implementation,homeRegion:local,baseBranch:main}',
        'Issue ' || n, 'https://github.com/acme/widgets/issues/' || n from generate_series(1, ${items}) n`,
  );
  await query(url, "vacuum analyze");
}

/** Nobody ever claimed anything. */
export const clearClaims = (url: string): Promise<unknown> =>
  query(url, "truncate claim, claim_grant, outbox, claim_marker, event_new, event");

/** One statement, or several without parameters, on a connection of its own. */
export async function query<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
): Promise<pg.QueryResult<Row>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query<Row>(text);
  } finally {
    await client.end();
  }
}
