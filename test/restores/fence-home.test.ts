/** Where tokens may be issued (migrations/0005): what every grant compares, and how the sequence is raised. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, type ClientBase } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";
import { migrationNames, numberOf, ROWS } from "../migrations/support/migration-files.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ pool: 30 });
});
afterAll(() => database.drop());

/** The fields of each raise that the session was told of, in order. */
function raisesOf(client: ClientBase): { severity: string | undefined; detail: string | undefined }[] {
  const heard: { severity: string | undefined; detail: string | undefined }[] = [];
  client.on("notice", ({ code, severity, detail }) => {
    if (code === "LH001") heard.push({ severity, detail });
  });
  return heard;
}

const sessions: Client[] = [];
async function session(): Promise<Client> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  client.on("error", () => {});
  sessions.push(client);
  return client;
}
afterEach(async () => {
  for (const client of sessions.splice(0)) await client.end().catch(() => {});
});

async function number(client: Pick<ClientBase, "query">, expression: string): Promise<number> {
  const { rows } = await client.query(`select (${expression})::float8 as value`);
  return rows[0].value;
}
const nextToken = (client: Pick<ClientBase, "query">, mark = 0) => number(client, `next_fence(${mark})`);
const clockUs = (client: Pick<ClientBase, "query">) =>
  number(client, "extract(epoch from clock_timestamp()) * 1e6");
/** Changes the note of where the sequence is, as a raise at another place would have left it. */
const noteAs = (client: Pick<ClientBase, "query">, change: string) =>
  client.query(`do $$ declare own xid; begin
    update fence_home set ${change} returning xmin into own;
    update fence_home set written_by = own; end $$`);
const moveAway = (client: Pick<ClientBase, "query">) => noteAs(client, "postmaster_at = '2026-01-01'");

describe("at home", () => {
  it("tokens follow each other, and nothing is raised", async () => {
    const client = await session();
    await nextToken(client);
    const raises = raisesOf(client);
    const first = await nextToken(client);
    expect([await nextToken(client), await nextToken(client)]).toEqual([first + 1, first + 2]);
    expect(raises).toEqual([]);
  });

  it("maintenance of the tables changes nothing", async () => {
    const client = await session();
    const first = await nextToken(client);
    await client.query("vacuum full fence_home");
    await client.query("vacuum freeze fence_home");
    await client.query("analyze");
    expect(await nextToken(client)).toBe(first + 1);
  });

  it("a record's mark that is above the sequence raises it above that, and to the clock", async () => {
    const client = await session();
    const mark = (await nextToken(client)) + 1000;
    const raises = raisesOf(client);
    const clock = await clockUs(client);
    const token = await nextToken(client, mark);
    expect(token).toBeGreaterThan(Math.max(mark, clock));
    expect(raises).toEqual([
      { severity: "WARNING", detail: `above ${token - 1}: a record's mark was above the sequence` },
    ]);
  });

  it("a grant is durable though the server is told not to wait for its log", async () => {
    const client = await session();
    const setting = async () => (await client.query("show synchronous_commit")).rows[0].synchronous_commit;
    await client.query("set synchronous_commit = off");
    await client.query("begin");
    await nextToken(client);
    expect(await setting()).toBe("local");
    await client.query("commit");
    expect(await setting()).toBe("off");
    await client.query("set synchronous_commit = remote_write");
    await client.query("begin");
    await nextToken(client);
    expect(await setting()).toBe("remote_write");
    await client.query("rollback");
  });
});

describe("away from home", () => {
  const elsewhere = "postmaster_at = '2026-01-01'";
  it.each([
    ["NOTICE", "another postmaster", elsewhere, /PostgreSQL was started, as a restored copy/],
    [
      "WARNING",
      "another cluster",
      `${elsewhere}, cluster = 1`,
      /another PostgreSQL cluster, \d+ in place of 1$/,
    ],
    [
      "WARNING",
      "another timeline",
      `${elsewhere}, timeline = '00000009'`,
      /timeline 00000001 in place of 00000009/,
    ],
    ["WARNING", "another sequence", "sequence_file = 'base/1/1'", /the database was restored or copied$/],
  ])("the log gets a %s of %s", async (severity, _, change, detail) => {
    const client = await session();
    await nextToken(client);
    const raises = raisesOf(client);
    await noteAs(client, change);
    const clock = await clockUs(client);
    expect(await nextToken(client)).toBeGreaterThan(clock);
    expect(raises).toEqual([{ severity, detail: expect.stringMatching(detail) }]);
    await nextToken(client);
    expect(raises).toHaveLength(1);
  });

  it("the log gets a WARNING of a note that was copied, though it says the same", async () => {
    const client = await session();
    await nextToken(client);
    const raises = raisesOf(client);
    await client.query("create table copied as select * from fence_home");
    await client.query("truncate fence_home; insert into fence_home select * from copied; drop table copied");
    await nextToken(client);
    expect(raises).toEqual([
      { severity: "WARNING", detail: expect.stringMatching(/the database was restored or copied$/) },
    ]);
  });

  it("the log gets a NOTICE of a new database, and a WARNING where tokens are known and their place is not", async () => {
    const client = await session();
    const raises = raisesOf(client);
    await client.query("delete from fence_home");
    await nextToken(client);
    await client.query(`
      delete from fence_home;
      insert into claim_marker (repository_id, issue_number, fence, comment_id, owner, by_app) values (1, 1, 1, 1, 'w', true)`);
    await nextToken(client);
    await client.query("delete from claim_marker");
    expect(raises).toEqual([
      { severity: "NOTICE", detail: expect.stringMatching(/this database is new$/) },
      {
        severity: "WARNING",
        detail: expect.stringMatching(/it is not known where they were issued before$/),
      },
    ]);
  });

  it("one of many sessions raises, and all tokens are above", async () => {
    const client = await session();
    await moveAway(client);
    const clock = await clockUs(client);
    const clients = await Promise.all(Array.from({ length: 20 }, session));
    const raises = clients.map(raisesOf);
    const takeTwenty = async (one: Client): Promise<number[]> => {
      const tokens: number[] = [];
      while (tokens.length < 20) tokens.push(await nextToken(one));
      return tokens;
    };
    const tokens = (await Promise.all(clients.map(takeTwenty))).flat();
    expect(raises.flat()).toHaveLength(1);
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(Math.min(...tokens)).toBeGreaterThan(clock);
  });

  it("others wait for the raise, and raise again when it was rolled back", async () => {
    const [one, other] = [await session(), await session()];
    await moveAway(one);
    await one.query("begin");
    const undone = await nextToken(one);
    const waiting = nextToken(other);
    await expect(
      Promise.race([waiting, one.query("select pg_sleep(0.2)").then(() => "waits")]),
    ).resolves.toBe("waits");
    await one.query("rollback");
    expect(await waiting).toBeGreaterThan(undone);
  });

  it("a session that is killed in the middle of a raise leaves it to the next", async () => {
    const [one, other] = [await session(), await session()];
    await moveAway(one);
    await one.query("begin");
    const lost = await nextToken(one);
    const { rows } = await one.query("select pg_backend_pid() as pid");
    await other.query("select pg_terminate_backend($1)", [rows[0].pid]);
    const raises = raisesOf(other);
    expect(await nextToken(other)).toBeGreaterThan(lost);
    expect(raises).toHaveLength(1);
  });

  it("tokens that others take meanwhile are not given again", async () => {
    const [one, other] = [await session(), await session()];
    const taken: number[] = [];
    let stop = false;
    const taking = (async () => {
      while (!stop) taken.push(await number(other, "nextval('fence')"));
    })();
    for (let round = 0; round < 10; round += 1) {
      await moveAway(one);
      taken.push(await nextToken(one));
    }
    stop = true;
    await taking;
    expect(new Set(taken).size).toBe(taken.length);
  });
});

describe("what is known", () => {
  let other: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    other = await testDatabase();
    client = new Client({ connectionString: other.url });
    await client.connect();
    await client.query("delete from fence_home");
    for (const name of await migrationNames()) {
      const rows = join(ROWS, `${numberOf(name)}.sql`);
      if (existsSync(rows)) await client.query(await readFile(rows, "utf8"));
    }
  });
  afterAll(async () => {
    await client.end();
    await other.drop();
  });

  it("is every fence in every table", async () => {
    const { rows } = await client.query<{ place: string; name: string }>(`
      select table_name as place, column_name as name from information_schema.columns join information_schema.tables
        using (table_schema, table_name)
      where table_schema = 'public' and table_type = 'BASE TABLE' and data_type = 'bigint'
        and column_name ~ 'fence|token|attempts_after'`);
    expect(rows.map(({ place, name }) => `${place}.${name}`)).toEqual(
      expect.arrayContaining([
        "claim.fence",
        "claim_grant.fence",
        "claim_grant.previous_fence",
        "claim_marker.fence",
      ]),
    );
    await client.query("set session_replication_role = replica");
    let fence = await clockUs(client);
    for (const { place, name } of rows) {
      fence = Math.round(fence) + 1_000_000;
      await client.query(
        `update ${place} set ${name} = ${fence} where ctid = (select ctid from ${place} limit 1)`,
      );
      expect(await number(client, "known_fence()"), `${place}.${name}`).toBe(fence);
    }
    await client.query("set session_replication_role = origin");
  });

  it("may be ahead of a clock that is behind: then tokens go on well above it, and elsewhere each time", async () => {
    const ahead = Math.round(await clockUs(client)) + 86_400_000_000;
    await client.query("update claim set fence = $1 where ctid = (select ctid from claim limit 1)", [ahead]);
    const tokens: number[] = [];
    for (const _ of [1, 2, 3]) {
      await client.query("select setval('fence', 1)");
      await moveAway(client);
      tokens.push(await nextToken(client));
    }
    for (const token of tokens) {
      expect(token).toBeGreaterThan(ahead + 1e9);
      expect(token).toBeLessThan(ahead + 2.1e9);
    }
    expect(new Set(tokens).size).toBe(3);
  });
});

describe("a role that may not ask for PostgreSQL's identity", () => {
  it("is given tokens that are as safe, and the log says so", async () => {
    const other = await testDatabase();
    const client = new Client({ connectionString: other.url });
    await client.connect();
    await client.query(`
      revoke execute on function pg_control_system() from public;
      revoke execute on function pg_walfile_name(pg_lsn) from public;
      create role plain_role;
      grant select, insert, update, delete on all tables in schema public to plain_role;
      grant all on all sequences in schema public to plain_role;
      set role plain_role`);
    await moveAway(client);
    const clock = await clockUs(client);
    const raises = raisesOf(client);
    const token = await nextToken(client);
    expect(token).toBeGreaterThan(clock);
    expect(await nextToken(client)).toBe(token + 1);
    expect(raises).toEqual([
      {
        severity: "WARNING",
        detail: `above ${token - 1}: PostgreSQL was started, and this role may not ask whether it is the same cluster`,
      },
    ]);
    await client.query("reset role; drop owned by plain_role; drop role plain_role");
    await client.end();
    await other.drop();
  });
});
