/** Databases of the tests: a template once, a clone for whoever asks. */

import pg from "pg";

export const TEMPLATE = "leasehold_template";

/** The same server, another database. */
export function urlOf(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

async function asAdmin(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf(url, "postgres") });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** Makes a database, empty or as a clone. */
export const createDatabase = (url: string, name: string, template: string | null): Promise<void> =>
  asAdmin(url, (client) => client.query(`create database ${name}${template ? ` template ${template}` : ""}`));

export const dropDatabase = (url: string, name: string): Promise<void> =>
  asAdmin(url, (client) => client.query(`drop database if exists ${name} with (force)`));
