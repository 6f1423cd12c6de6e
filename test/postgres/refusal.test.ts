import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect } from "vitest";
import { findBinaryPackage } from "../../src/postgres/binaries.ts";
import { findFreePort } from "../../src/postgres/free-port.ts";
import { test } from "./support/bench.ts";
import { sql } from "./support/sql.ts";

describe("a start is refused", () => {
  test("while another process has the folder, naming it", async ({ sharedDataDir, start, hold }) => {
    const holder = hold(sharedDataDir);
    const url = await holder.ready();
    await expect(start(sharedDataDir)).rejects.toMatchObject({
      code: "folder_in_use",
      message: expect.stringContaining(`pid ${holder.pid}`),
    });
    expect(await sql(url, "select 1 as n")).toEqual([{ n: 1 }]);
  });

  test("while this process has it, and not after it stopped", async ({ sharedDataDir, start }) => {
    const first = await start(sharedDataDir);
    await expect(start(sharedDataDir)).rejects.toMatchObject({ code: "folder_in_use" });
    await first.stop();
    await start(sharedDataDir);
  });

  test("to all but one of those who start at the same moment", async ({ folder, hold }) => {
    const holders = Array.from({ length: 3 }, () => hold(folder));
    const outcomes = await Promise.all(
      holders.map((holder) => Promise.any([holder.event("ready"), holder.event("refused")])),
    );
    const said = outcomes.map(({ event, code }) => code ?? event).sort();
    expect(said).toEqual(["folder_in_use", "folder_in_use", "ready"]);
  });

  test("when the port asked for is taken", async ({ sharedDataDir, start }) => {
    const port = await findFreePort();
    await using _other = await listenOn(port);
    await expect(start(sharedDataDir, { port })).rejects.toMatchObject({
      code: "port_taken",
      message: expect.stringContaining(String(port)),
    });
  });

  test("on a folder with something else in it, which is left as it was", async ({ folder, start }) => {
    await writeFile(join(folder, "thesis.txt"), "years of work");
    await chmod(folder, 0o750);
    await expect(start(folder)).rejects.toMatchObject({
      code: "folder_foreign",
      message: expect.stringContaining("thesis.txt"),
    });
    expect(await readdir(folder)).toEqual(["thesis.txt"]);
  });

  test("on a file", async ({ folder, start }) => {
    const file = join(folder, "file");
    await writeFile(file, "text");
    await expect(start(file)).rejects.toMatchObject({ code: "folder_foreign" });
    await expect(start(join(file, "below"))).rejects.toMatchObject({ code: "folder_foreign" });
  });

  test("on data of another PostgreSQL version, or damaged, which is left as it was", async ({
    sharedDataDir,
    start,
  }) => {
    const versionFile = join(sharedDataDir, "cluster", "PG_VERSION");
    const version = await readFile(versionFile, "utf8");

    await writeFile(versionFile, "9\n");
    await expect(start(sharedDataDir)).rejects.toMatchObject({
      code: "version_mismatch",
      message: expect.stringMatching(/PostgreSQL 9.*PostgreSQL 18/s),
    });
    await writeFile(versionFile, "");
    await expect(start(sharedDataDir)).rejects.toMatchObject({ code: "cluster_damaged" });

    await writeFile(versionFile, version);
    await start(sharedDataDir);
  });

  test("when the password is gone or wrong", async ({ sharedDataDir, start }) => {
    const passwordFile = join(sharedDataDir, "password");
    const password = await readFile(passwordFile, "utf8");

    await writeFile(passwordFile, "not-the-one\n");
    await expect(start(sharedDataDir)).rejects.toMatchObject({ code: "password_lost" });
    await rm(passwordFile);
    await expect(start(sharedDataDir)).rejects.toMatchObject({ code: "password_lost" });

    await writeFile(passwordFile, password, { mode: 0o600 });
    await start(sharedDataDir);
  });

  test("with PostgreSQL's own words when PostgreSQL does not start, and the folder is free again", async ({
    sharedDataDir,
    start,
  }) => {
    await expect(start(sharedDataDir, { settings: { shared_buffers: "many" } })).rejects.toMatchObject({
      code: "start_failed",
      message: expect.stringContaining('invalid value for parameter "shared_buffers": "many"'),
    });
    await start(sharedDataDir);
  });

  test("on a machine that has no binaries", async () => {
    await expect(findBinaryPackage("plan9", "mips")).rejects.toMatchObject({
      code: "no_binaries",
      message: expect.stringContaining("DATABASE_URL"),
    });
  });

  test.runIf(process.getuid?.() === 0)(
    "on a cluster that its account can no longer reach",
    async ({ sharedDataDir, start }) => {
      const parent = dirname(sharedDataDir);
      await chmod(parent, 0o700);
      await expect(start(sharedDataDir)).rejects.toMatchObject({ code: "folder_unreachable" });
      await chmod(parent, 0o711);
      await start(sharedDataDir);
    },
  );

  test.runIf(process.getuid?.() === 0)(
    "when a folder that is ours cannot be written",
    async ({ folder, hold }) => {
      await mkdir(join(folder, "data"));
      await writeFile(join(folder, "data", "LEASEHOLD-POSTGRES.txt"), "");
      const holder = hold(join(folder, "data"), { uid: 65534, gid: 65534 });
      expect(await holder.event("refused")).toMatchObject({ code: "folder_not_writable" });
    },
  );
});

async function listenOn(port: number): Promise<AsyncDisposable> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}
