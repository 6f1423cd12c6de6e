import pg from "pg";
import { DATABASE } from "./cluster.ts";
import { passwordLost } from "./password.ts";

/** Makes sure that the database is there, and in doing so that the server really lets us in. */
export async function ensureDatabase(folder: string, port: number, password: string): Promise<void> {
  try {
    await query(DATABASE, port, password, "select 1");
  } catch (error) {
    if (isSqlState(error, "28P01")) throw passwordLost(folder, "holds another password", error);
    if (!isSqlState(error, "3D000")) throw error;
    await query("postgres", port, password, `create database ${DATABASE}`);
  }
}

async function query(database: string, port: number, password: string, sql: string): Promise<void> {
  // Everything is given, so that PGSSLMODE, PGOPTIONS and the like in our environment have no say.
  const client = new pg.Client({
    host: "127.0.0.1",
    port,
    user: DATABASE,
    password,
    database,
    ssl: false,
    options: "",
    application_name: "leasehold-launcher",
  });
  client.on("error", () => {});
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function isSqlState(error: unknown, state: string): boolean {
  return error instanceof Error && "code" in error && error.code === state;
}
