/** A server that cannot start must end: half started it would serve nobody, and whoever watches it would see it live. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), "leasehold-failed-start-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await database.drop();
});

it("when its jobs cannot begin, after it began to listen", async () => {
  // Its runner is under way by then.
  await database.pool.query("alter function graphile_worker.add_job rename to add_job_gone");
  const server = spawn(process.execPath, [join(import.meta.dirname, "../../src/main.ts")], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOST: "127.0.0.1",
      PORT: "0",
      DATABASE_URL: database.url,
      DATA_DIR: folder,
      LEASEHOLD_ADMIN_TOKEN: "lh_failed_start_admin_token_for_tests",
    },
  });
  let said = "";
  server.stdout.on("data", (chunk) => {
    said += chunk;
  });
  server.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const [code] = await once(server, "exit");
  expect(code, said).toBe(1);
  expect(said).not.toContain("driver has already been destroyed");
}, 60_000);
