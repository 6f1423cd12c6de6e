/** One real PostgreSQL for the whole run, and in it a migrated template that each test file clones. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startEmbeddedPostgres } from "../../src/postgres/embedded.ts";
import { openDatabase } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import { createDatabase, TEMPLATE, urlOf } from "./databases.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-test-"));
  const postgres = await startEmbeddedPostgres({
    // The folder itself: below one that mkdtemp made, root's PostgreSQL could not reach.
    dataDir: folder,
    // Nothing of a test run outlives it.
    settings: { fsync: "off", synchronous_commit: "off", full_page_writes: "off", max_connections: "400" },
    log: () => {},
  });
  await createDatabase(postgres.url, TEMPLATE, null);
  const template = openDatabase(urlOf(postgres.url, TEMPLATE), 4, () => {});
  await migrate(template);
  await template.close();
  project.provide("postgresUrl", postgres.url);
  return async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
