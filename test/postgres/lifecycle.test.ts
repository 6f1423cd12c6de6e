import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { findFreePort } from "../../src/postgres/free-port.ts";
import { test } from "./support/bench.ts";
import { expectGone, serverPid } from "./support/processes.ts";
import { sql } from "./support/sql.ts";

describe("an embedded PostgreSQL", () => {
  test("makes its folder, and finds its rows again on the next start", async ({ folder, start }) => {
    const dataDir = join(folder, "made", "for", "us");
    const first = await start(dataDir);
    await sql(first.url, "create table kept as select 'café' as word");
    await first.stop();

    const second = await start(dataDir);
    expect(await sql(second.url, "select word from kept")).toEqual([{ word: "café" }]);
    expect(second.dataDir).toBe(dataDir);
  });

  test("is UTF-8 without the machine's locale, durable, and on 127.0.0.1 only", async ({
    sharedDataDir,
    start,
  }) => {
    const { url, port } = await start(sharedDataDir, { settings: { fsync: "on" } });
    expect(url).toMatch(
      new RegExp(`^postgres://leasehold:[A-Za-z0-9_-]{32}@127\\.0\\.0\\.1:${port}/leasehold$`),
    );
    const [database] = await sql(
      url,
      `select pg_encoding_to_char(encoding) as encoding, datlocprovider, datlocale, datcollate
       from pg_database where datname = current_database()`,
    );
    expect(database).toEqual({
      encoding: "UTF8",
      datlocprovider: "b",
      datlocale: "C.UTF-8",
      datcollate: "C",
    });
    const [settings] = await sql(
      url,
      `select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
              current_setting('max_connections') as connections, current_setting('synchronous_commit') as durable`,
    );
    expect(settings).toEqual({ addresses: "127.0.0.1", sockets: "", connections: "200", durable: "on" });
  });

  test("lets nobody in without the password, which only its owner can read", async ({
    sharedDataDir,
    start,
  }) => {
    const { url } = await start(sharedDataDir);
    await expect(sql(url.replace(/:[^:@]+@/, ":wrong@"), "select 1")).rejects.toMatchObject({
      code: "28P01",
    });
    const path = join(sharedDataDir, "password");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(url).toContain((await readFile(path, "utf8")).trim());
  });

  test.runIf(process.getuid?.() === 0)(
    "does not run as root when we do",
    async ({ sharedDataDir, start }) => {
      const { url } = await start(sharedDataDir);
      const [row] = await sql(url, "select pg_read_file('/proc/self/status') as status");
      expect(String(row?.status)).toMatch(/^Uid:\t[1-9]/m);
      expect((await stat(join(sharedDataDir, "cluster"))).uid).not.toBe(0);
    },
  );

  test("stops in the middle of work, once for any number of calls", async ({ sharedDataDir, start }) => {
    const postgres = await start(sharedDataDir);
    const pid = await serverPid(sharedDataDir);
    const cutOff = sql(postgres.url, "select pg_sleep(60)").catch((error: Error) => error);
    const sleepers = "select 1 from pg_stat_activity where query like 'select pg_sleep%'";
    await expect.poll(() => sql(postgres.url, sleepers)).toHaveLength(1);

    await Promise.all([postgres.stop(), postgres.stop()]);
    expect(await cutOff).toBeInstanceOf(Error);
    expect(await postgres.exited).toEqual({ code: 0, signal: null });
    await expectGone(pid);
  });

  test("takes a port and settings from its caller, and starts a new log each time", async ({
    sharedDataDir,
    start,
  }) => {
    const port = await findFreePort();
    for (const run of ["first", "second"]) {
      const postgres = await start(sharedDataDir, { port, settings: { max_connections: "20" } });
      expect(postgres.port).toBe(port);
      expect(await sql(postgres.url, "show max_connections")).toEqual([{ max_connections: "20" }]);
      await expect(sql(postgres.url, `select ${run}`)).rejects.toThrow(run);
      await postgres.stop();
    }
    const log = await readFile(join(sharedDataDir, "postgres.log"), "utf8");
    expect(log).toContain('"second"');
    expect(log).not.toContain('"first"');
  });

  test("leaves nothing behind but its own few files", async ({ sharedDataDir, start }) => {
    await (await start(sharedDataDir)).stop();
    expect((await readdir(sharedDataDir)).sort()).toEqual([
      "LEASEHOLD-POSTGRES.txt",
      "cluster",
      "initdb.log",
      expect.stringMatching(/^owner\.\d+\.json$/),
      "password",
      "postgres.log",
      "postgres.log.previous",
    ]);
  });
});
