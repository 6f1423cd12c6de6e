/** Migrations: plain SQL files, forward only, applied once however many processes start together. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { runMigrations } from "graphile-worker";
import { sql } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import type { Database, Db } from "./database.ts";

const FOLDER = join(import.meta.dirname, "../../migrations");
const FILE = /^\d{4}_[a-z0-9_]+\.sql$/;
// One of our own, so that the job tables, which graphile-worker makes, wait their turn too.
const MIGRATION_LOCK = [7203, 0] as const;

async function readMigrations(): Promise<Record<string, Migration>> {
  const names = (await readdir(FOLDER)).filter((name) => FILE.test(name)).sort();
  const entries = names.map(async (name): Promise<[string, Migration]> => {
    const text = await readFile(join(FOLDER, name), "utf8");
    return [name.replace(/\.sql$/, ""), { up: async (db) => void (await sql.raw(text).execute(db)) }];
  });
  return Object.fromEntries(await Promise.all(entries));
}

const migratorOf = (db: Db): Migrator =>
  new Migrator({ db, provider: { getMigrations: readMigrations }, migrationTableName: "schema_migration" });

/** Brings the schema up to date and answers the names of the migrations applied now. */
export async function migrate({ db, pool }: Database): Promise<string[]> {
  const client = await pool.connect();
  try {
    await client.query("select pg_advisory_lock($1, $2)", [...MIGRATION_LOCK]);
    const { error, results } = await migratorOf(db).migrateToLatest();
    if (error) throw error;
    await runMigrations({ pgPool: pool });
    return (results ?? [])
      .filter((result) => result.status === "Success")
      .map((result) => result.migrationName);
  } finally {
    await client.query("select pg_advisory_unlock($1, $2)", [...MIGRATION_LOCK]).catch(() => {});
    client.release();
  }
}

/** The newest migration applied, and whether any of this program's are still missing. */
export async function migrationState(db: Db): Promise<{ applied: string | null; pending: number }> {
  const all = await migratorOf(db).getMigrations();
  const applied = all.filter((migration) => migration.executedAt !== undefined);
  return { applied: applied.at(-1)?.name ?? null, pending: all.length - applied.length };
}
