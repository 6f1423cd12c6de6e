/** Databases of the tests: a template once, a clone for whoever asks. */

import pg from "pg";

export const TEMPLATE = "leasehold_template";

/** The same server, another database. */
export function urlOf(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

const asAdmin = (url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> =>
  on(urlOf(url, "postgres"), work);

async function on(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Makes a database, empty or as a clone. A clone is a copy, whose first grant would raise the tokens; these clones are
 * of a template that issued none, so they are told that they are at home, and their tokens begin at 1.
 */
export async function createDatabase(url: string, name: string, template: string | null): Promise<void> {
  await asAdmin(url, (client) =>
    client.query(`create database ${name}${template ? ` template ${template}` : ""}`),
  );
  if (template !== null) await on(urlOf(url, name), (client) => client.query("select note_fence_home()"));
}

export const dropDatabase = (url: string, name: string): Promise<void> =>
  asAdmin(url, (client) => client.query(`drop database if exists ${name} with (force)`));
