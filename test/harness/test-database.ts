/** A migrated database of its own for a test file that needs no server. */

import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { type Database, openDatabase } from "../../src/store/database.ts";
import { createDatabase, dropDatabase, TEMPLATE, urlOf } from "./databases.ts";

export interface TestDatabase extends Database {
  readonly url: string;
  drop(): Promise<void>;
}

export async function testDatabase(options: { empty?: boolean; pool?: number } = {}): Promise<TestDatabase> {
  const server = inject("postgresUrl");
  const name = `t_${randomBytes(8).toString("hex")}`;
  await createDatabase(server, name, options.empty ? null : TEMPLATE);
  const url = urlOf(server, name);
  const database = openDatabase(url, options.pool ?? 10, () => {});
  return {
    ...database,
    url,
    drop: async () => {
      await database.close();
      await dropDatabase(server, name);
    },
  };
}
