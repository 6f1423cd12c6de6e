/** A standby that lags is promoted: the tokens of the grants that it never heard of do not come again. */

import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { waitFor } from "../harness/wait-for.ts";
import { sql } from "../postgres/support/sql.ts";
import { baseBackup, makeStandby, startCluster, startOnFolder, type TestCluster } from "./support/cluster.ts";
import { backlogDatabase, bareToken } from "./support/databases.ts";
import { expectNoTokenTwice, startProgram } from "./support/program.ts";

let primary: TestCluster;
let standby: TestCluster;
beforeAll(async () => {
  primary = await startCluster();
  const folder = await baseBackup(primary);
  await makeStandby(folder, primary);
  standby = await startOnFolder(folder, primary);
});
afterAll(async () => {
  await standby?.remove();
  await primary?.remove();
});

/** Waits until the standby has all that the primary has. */
async function followed(): Promise<void> {
  const [there] = await sql(primary.url, "select pg_current_wal_insert_lsn()::text as lsn");
  await waitFor("the standby to follow", async () => {
    const [here] = await sql(standby.url, `select pg_last_wal_replay_lsn() >= '${there?.lsn}' as yes`);
    return here?.yes === true ? null : "it is behind";
  });
}

it("grants nothing while it is a standby, and no token twice when it is promoted", async () => {
  const database = await backlogDatabase(primary.url);
  const before = await startProgram(database);
  const early = await before.useAll();
  await followed();
  await sql(standby.url, "alter system set primary_conninfo = ''");
  await sql(standby.url, "select pg_reload_conf()");
  await waitFor("the standby to hear nothing any more", async () => {
    const [receiver] = await sql(standby.url, "select pid from pg_stat_wal_receiver");
    return receiver === undefined ? null : "it still listens";
  });
  const late = await before.useAll();
  await before.stop();
  await primary.crash();

  const copy = standby.url.replace(/[^/]+$/, new URL(database).pathname.slice(1));
  // A session that is there before the promotion, and stays.
  const session = new Client({ connectionString: copy });
  await session.connect();
  const raises: unknown[] = [];
  session.on("notice", ({ severity, detail }) => raises.push({ severity, detail }));
  await expect(session.query("select next_fence(0)")).rejects.toMatchObject({ code: "25006" });
  await expect(startProgram(copy)).rejects.toMatchObject({ code: "25006" });

  await sql(standby.url, "select pg_promote()");
  // The danger is real: what the sequence would give was given.
  expect(late.map(({ token }) => token)).toContain(await bareToken(copy));
  const { rows } = await session.query("select next_fence(0)::float8 as token");
  const first = { path: "by the session", token: rows[0].token };
  const after = await startProgram(copy);
  const again = await after.useAll();
  expectNoTokenTwice(early, late, [first], again);
  const detail = /^above \d{16}: timeline 00000002 in place of 00000001: a standby was promoted/;
  expect(raises).toEqual([{ severity: "WARNING", detail: expect.stringMatching(detail) }]);

  // Holders whose grants were lost are refused, as anybody who was superseded.
  for (const { path, token } of late.filter((grant) => /\D7$/.test(grant.path))) {
    await after.claim(path);
    expect(await after.write(path, token), path).toEqual({ status: 409, code: "stale_token" });
  }
  await after.stop();
  await session.end();
});
