/** An older dump, restored into a new cluster or beside the database that it was taken of: no token comes again. */

import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { urlOf } from "../harness/databases.ts";
import { WARN } from "../harness/recorded-log.ts";
import { sql } from "../postgres/support/sql.ts";
import { startCluster, type TestCluster } from "./support/cluster.ts";
import { backlogDatabase, bareToken, migratedDatabase } from "./support/databases.ts";
import { restoreDump, takeDump } from "./support/dump.ts";
import { expectNoTokenTwice, type Grant, startProgram } from "./support/program.ts";

const server = inject("postgresUrl");
let fresh: TestCluster;
beforeAll(async () => {
  fresh = await startCluster();
});
afterAll(() => fresh.remove());

const tokensOf = (grants: readonly Grant[]): number[] => grants.map(({ token }) => token);

it("restored into a new cluster", async () => {
  const old = await backlogDatabase(server);
  const before = await startProgram(old);
  const early = await before.useAll();
  const dump = await takeDump(old);
  const late = await before.useAll();
  await before.stop();

  const restored = await migratedDatabase(fresh.url);
  await restoreDump(restored, dump);
  // The danger is real: what the sequence would give was given.
  expect(tokensOf(late)).toContain(await bareToken(restored));
  const after = await startProgram(restored);
  const again = await after.useAll();
  expectNoTokenTwice(early, late, again);
  expect(after.raises()).toEqual([
    {
      level: WARN,
      detail: expect.stringMatching(/^above \d{16}: another PostgreSQL cluster, \d+ in place of \d+$/),
    },
  ]);

  // Holders of the time that was lost are refused, as anybody who was superseded.
  for (const { path, token } of late.filter((grant) => /\D7$/.test(grant.path))) {
    await after.claim(path);
    expect(await after.write(path, token), path).toEqual({ status: 409, code: "stale_token" });
  }
  await after.stop();
});

it("that was taken before anything was granted", async () => {
  const old = await backlogDatabase(server);
  const dump = await takeDump(old);
  const before = await startProgram(old);
  const lost = await before.useAll();
  await before.stop();

  const restored = await migratedDatabase(fresh.url);
  await restoreDump(restored, dump);
  const after = await startProgram(restored);
  expectNoTokenTwice(lost, await after.useAll());
  await after.stop();
});

it("restored in the same cluster: beside the database, and over it while it serves", async () => {
  const url = await backlogDatabase(server);
  const program = await startProgram(url);
  const early = await program.useAll();
  const dump = await takeDump(url);
  const late = await program.useAll();

  const beside = await migratedDatabase(server);
  await restoreDump(beside, dump);
  expect(tokensOf(late)).toContain(await bareToken(beside));
  const other = await startProgram(beside);
  const besides = await other.useAll();
  await other.stop();
  const raise = { level: WARN, detail: expect.stringMatching(/: the database was restored or copied$/) };
  expect(other.raises()).toEqual([raise]);

  const names = [...dump.tables.keys()].map((name) => `"${name}"`);
  await sql(url, `truncate ${names.join(", ")}`);
  await restoreDump(url, dump);
  const over = await program.useAll();
  await program.stop();
  expect(program.raises().slice(1)).toEqual([raise]);
  expectNoTokenTwice(early, late, besides, over);
});

it("made by PostgreSQL itself, as a copy of the whole database", async () => {
  const url = await backlogDatabase(server);
  const program = await startProgram(url);
  const early = await program.useAll();
  await program.stop();
  const name = new URL(url).pathname.slice(1);
  await sql(urlOf(url, "postgres"), `create database ${name}_copy template ${name}`);
  const copy = urlOf(url, `${name}_copy`);
  const again = await startProgram(url);
  const late = await again.useAll();
  await again.stop();
  // Nothing happened to the database itself.
  expect(again.raises()).toEqual([]);

  expect(tokensOf(late)).toContain(await bareToken(copy));
  const other = await startProgram(copy);
  expectNoTokenTwice(early, late, await other.useAll());
  await other.stop();
});
