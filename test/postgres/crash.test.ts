import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { test } from "./support/bench.ts";
import { expectGone, serverPid } from "./support/processes.ts";
import { sql } from "./support/sql.ts";

const MAKING = "making a new PostgreSQL database folder";

describe("after a crash", () => {
  test("kill -9 of node leaves no PostgreSQL, and the data is there", async ({
    sharedDataDir,
    start,
    hold,
  }) => {
    const holder = hold(sharedDataDir);
    await sql(await holder.ready(), "create table survived_node as select 1 as n");
    const pid = await serverPid(sharedDataDir);

    await holder.killHard();
    await expectGone(pid);

    const { url } = await start(sharedDataDir);
    expect(await sql(url, "select n from survived_node")).toEqual([{ n: 1 }]);
  });

  test("a start right after kill -9 of node waits for the old PostgreSQL", async ({
    sharedDataDir,
    start,
    hold,
  }) => {
    const holder = hold(sharedDataDir);
    const oldUrl = await holder.ready();
    await sql(oldUrl, "create table survived_haste as select 1 as n");
    const pid = await serverPid(sharedDataDir);

    await holder.killHard();
    const { url } = await start(sharedDataDir);
    await expectGone(pid);
    expect(await sql(url, "select n from survived_haste")).toEqual([{ n: 1 }]);
  });

  test.runIf(process.platform === "linux")(
    "a start stops an old PostgreSQL whose watchdog was killed too",
    async ({ sharedDataDir, start, hold }) => {
      const holder = hold(sharedDataDir);
      await holder.ready();
      const pid = await serverPid(sharedDataDir);
      await killWatchdog(pid);
      await holder.killHard();

      const messages: string[] = [];
      await start(sharedDataDir, { log: (message) => messages.push(message) });
      await expectGone(pid);
      expect(messages).toContain("waiting for the PostgreSQL of the run before to finish");
    },
  );

  test("kill -9 of PostgreSQL is reported, and the next start recovers", async ({ sharedDataDir, start }) => {
    const first = await start(sharedDataDir);
    await sql(first.url, "create table survived_server as select 1 as n");
    process.kill(await serverPid(sharedDataDir), "SIGKILL");
    expect(await first.exited).toEqual({ code: null, signal: "SIGKILL" });

    const second = await start(sharedDataDir);
    expect(await sql(second.url, "select n from survived_server")).toEqual([{ n: 1 }]);
    await first.stop();
  });

  test("a busy session that outlived its killed server is ended first", async ({ sharedDataDir, start }) => {
    const first = await start(sharedDataDir);
    const busy = "do $$ begin loop perform 1; end loop; end $$";
    const cutOff = sql(first.url, busy).catch((error: Error) => error);
    await expect
      .poll(() => sql(first.url, "select pid from pg_stat_activity where query like 'do %'"))
      .toHaveLength(1);
    process.kill(await serverPid(sharedDataDir), "SIGKILL");
    await first.exited;

    const second = await start(sharedDataDir);
    expect(await cutOff).toBeInstanceOf(Error);
    expect(await sql(second.url, "select 1 as n")).toEqual([{ n: 1 }]);
  });

  test("a pid in postmaster.pid that now belongs to another program does not hinder", async ({
    sharedDataDir,
    start,
  }) => {
    const first = await start(sharedDataDir);
    const pidFile = join(sharedDataDir, "cluster", "postmaster.pid");
    const text = await readFile(pidFile, "utf8");
    process.kill(await serverPid(sharedDataDir), "SIGKILL");
    await first.exited;
    // Pid 1 is always there and never ours.
    await writeFile(pidFile, text.replace(/^\d+/, "1"));

    const second = await start(sharedDataDir);
    expect(await sql(second.url, "select 1 as n")).toEqual([{ n: 1 }]);
  });

  test("a cluster whose making was cut off by kill -9 is made again", async ({ folder, start, hold }) => {
    const holder = hold(folder);
    await holder.event("log", MAKING);
    await expect.poll(() => draftFiles(folder), { timeout: 10_000, interval: 5 }).toContain("PG_VERSION");
    await holder.killHard();
    const messages: string[] = [];

    const { url } = await start(folder, { log: (message) => messages.push(message) });
    expect(messages).toContain(MAKING);
    expect(await sql(url, "select 1 as n")).toEqual([{ n: 1 }]);
    expect((await readdir(folder)).filter((entry) => entry.includes("draft"))).toEqual([]);
  });

  test("half a cluster left by a run that died is swept away", async ({ sharedDataDir, start }) => {
    const half = join(sharedDataDir, "cluster-draft-left");
    await mkdir(join(half, "data"), { recursive: true });
    await writeFile(join(half, "data", "PG_VERSION"), "18\n");
    await start(sharedDataDir);
    expect(await readdir(sharedDataDir)).not.toContain("cluster-draft-left");
  });

  test("^C in the terminal reaches node alone", async ({ sharedDataDir, hold }) => {
    const holder = hold(sharedDataDir);
    const url = await holder.ready();
    holder.interruptGroup();
    await holder.event("sigint");
    expect(await sql(url, "select 1 as n")).toEqual([{ n: 1 }]);
  });
});

async function draftFiles(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).map((path) => path.split("/").at(-1) ?? "");
}

/** The watchdog is the one other process in the server's session that is a shell. */
async function killWatchdog(serverPid: number): Promise<void> {
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const dogs: number[] = [];
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const session = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
    if (session === serverPid && stat.includes("(sh)")) dogs.push(pid);
  }
  expect(dogs).toHaveLength(1);
  for (const pid of dogs) {
    process.kill(pid, "SIGKILL");
    await expectGone(pid);
  }
}
