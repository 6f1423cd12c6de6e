/** Migrations: plain SQL files, forward only, applied once however many processes start together. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { runMigrations } from "graphile-worker";
import { sql } from "kysely";
import { type Migration, type MigrationResult, Migrator } from "kysely/migration";
import type { Database, Db } from "./database.ts";

const FOLDER = join(import.meta.dirname, "../../migrations");
const FILE = /^\d{4}_[a-z0-9_]+\.sql$/;
// One of our own, so that the job tables, which graphile-worker makes, wait their turn too.
const MIGRATION_LOCK = [7203, 0] as const;

async function readMigrations(folder: string): Promise<Record<string, Migration>> {
  const names = (await readdir(folder)).filter((name) => FILE.test(name)).sort();
  const entries = names.map(async (name): Promise<[string, Migration]> => {
    const text = await readFile(join(folder, name), "utf8");
    return [name.replace(/\.sql$/, ""), { up: async (db) => void (await sql.raw(text).execute(db)) }];
  });
  return Object.fromEntries(await Promise.all(entries));
}

const migratorOf = (db: Db, folder: string): Migrator =>
  new Migrator({
    db,
    provider: { getMigrations: () => readMigrations(folder) },
    migrationTableName: "schema_migration",
    migrationLockTableName: "schema_migration_lock",
  });

/**
 * Brings the schema up to date and answers the names of the migrations applied now. They run in one transaction:
 * when one fails, none is applied, and the error says which it was.
 */
export async function migrate({ db, pool }: Database, folder = FOLDER): Promise<string[]> {
  const client = await pool.connect();
  try {
    await client.query("select pg_advisory_lock($1, $2)", [...MIGRATION_LOCK]);
    const { error, results = [] } = await migratorOf(db, folder).migrateToLatest();
    if (error) throw named(error, results);
    await runMigrations({ pgPool: pool });
    return results.filter((result) => result.status === "Success").map((result) => result.migrationName);
  } finally {
    await client.query("select pg_advisory_unlock($1, $2)", [...MIGRATION_LOCK]).catch(() => {});
    client.release();
  }
}

function named(error: unknown, results: readonly MigrationResult[]): Error {
  const failed = results.find((result) => result.status === "Error");
  const what = failed ? `the migration ${failed.migrationName} failed` : "the database could not be migrated";
  const why = error instanceof Error ? error.message : String(error);
  return new Error(`${what}: ${why}`, { cause: error });
}

/** The newest migration applied, and whether any of this program's are still missing. */
export async function migrationState(db: Db): Promise<{ applied: string | null; pending: number }> {
  const all = await migratorOf(db, FOLDER).getMigrations();
  const applied = all.filter((migration) => migration.executedAt !== undefined);
  return { applied: applied.at(-1)?.name ?? null, pending: all.length - applied.length };
}
