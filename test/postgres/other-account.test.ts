import { randomUUID } from "node:crypto";
import { access, chown, constants, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect } from "vitest";
import { copyBinaries } from "../../src/postgres/copy-binaries.ts";
import { canEnter, pickServiceAccount } from "../../src/postgres/run-user.ts";
import { test } from "./support/bench.ts";
import { sql } from "./support/sql.ts";

const isRoot = process.getuid?.() === 0;
const NOBODY = { name: "nobody", uid: 65534, gid: 65534 };
const checkoutIsOpen =
  isRoot && (await canEnter(NOBODY, import.meta.dirname)) && (await canRun(process.execPath));

describe.runIf(isRoot)("as root", () => {
  test("a folder that this account cannot reach gets its cluster elsewhere, and says where", async ({
    folder,
    start,
  }) => {
    const dataDir = join(folder, "closed", "data");
    await mkdir(dirname(dataDir), { mode: 0o700 });
    const first = await start(dataDir);
    await sql(first.url, "create table kept as select 1 as n");
    await first.stop();

    const elsewhere = (await readFile(join(dataDir, "elsewhere.txt"), "utf8")).trim();
    expect(await readdir(elsewhere)).toContain("cluster");
    const second = await start(dataDir);
    expect(await sql(second.url, "select n from kept")).toEqual([{ n: 1 }]);
    await expect(start(dataDir)).rejects.toMatchObject({ code: "folder_in_use" });
  });

  test.runIf(checkoutIsOpen)(
    "the folder of an ordinary user still works for that user",
    async ({ folder, start, hold }) => {
      await chown(folder, NOBODY.uid, NOBODY.gid);
      const holder = hold(folder, NOBODY);
      await sql(await holder.ready(), "create table kept as select 1 as n");
      expect((await stat(join(folder, "cluster"))).uid).toBe(NOBODY.uid);
      await holder.killHard();

      const asRoot = await start(folder);
      expect(await sql(asRoot.url, "select n from kept")).toEqual([{ n: 1 }]);
      await asRoot.stop();

      expect(await sql(await hold(folder, NOBODY).ready(), "select n from kept")).toEqual([{ n: 1 }]);
    },
  );
});

describe("the copy of the programs", () => {
  test("is made whole, once, by any number at the same moment, and mended when broken", async ({
    folder,
  }) => {
    const nativeFolder = await fakePackage(folder);
    const label = `test-${randomUUID()}`;
    const isGood = (at: string) => canRun(join(at, "bin", "postgres"));
    const copy = () => copyBinaries({ nativeFolder, label }, isGood, () => {});

    const copies = await Promise.all(Array.from({ length: 8 }, copy));
    const [target] = copies;
    if (target === null || target === undefined) throw new Error("no copy was made");
    try {
      expect(new Set(copies)).toEqual(new Set([target]));
      expect(await readFile(join(target, "lib", "libpq.so.5"), "utf8")).toBe("library");
      expect((await stat(join(target, "lib", "libpq.so.5.18"))).mode & 0o777).toBe(0o644);

      await rm(join(target, "bin", "postgres"));
      expect(await copy()).toBe(target);
      expect(await isGood(target)).toBe(true);
      const siblings = await readdir(dirname(target));
      expect(siblings.filter((name) => name.includes(label))).toHaveLength(1);
    } finally {
      await rm(target, { recursive: true, force: true });
    }
  });
});

describe("the account for PostgreSQL under root", () => {
  const nobody = "nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin";
  const postgres = "postgres:x:101:104:PostgreSQL:/var/lib/postgresql:/bin/bash";

  test("is postgres, else nobody", () => {
    expect(pickServiceAccount(`root:x:0:0::/:/bin/sh\n${nobody}\n${postgres}\n`)).toMatchObject({
      uid: 101,
      gid: 104,
    });
    expect(pickServiceAccount(`${nobody}\n`)).toEqual({ name: "nobody", uid: 65534, gid: 65533 });
  });

  test("is never root", () => {
    expect(() => pickServiceAccount("postgres:x:0:0::/:/bin/sh\n")).toThrow(
      expect.objectContaining({ code: "no_run_user" }),
    );
  });
});

/** A package installed for its owner's eyes only, without its links. */
async function fakePackage(folder: string): Promise<string> {
  const native = join(folder, "native");
  await mkdir(join(native, "bin"), { recursive: true, mode: 0o700 });
  await mkdir(join(native, "lib"), { mode: 0o700 });
  await writeFile(join(native, "bin", "postgres"), "program", { mode: 0o700 });
  await writeFile(join(native, "lib", "libpq.so.5.18"), "library", { mode: 0o600 });
  const links = [{ source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so.5" }];
  await writeFile(join(native, "pg-symlinks.json"), JSON.stringify(links));
  return native;
}

async function canRun(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
