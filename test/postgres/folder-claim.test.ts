import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { claimFolder } from "../../src/postgres/folder-claim.ts";
import { readProcess } from "../../src/postgres/process-facts.ts";
import { test } from "./support/bench.ts";

describe("the claim on a folder", () => {
  test("goes to one of many who find a dead owner", async ({ folder }) => {
    await writeOwner(folder, 4, { pid: await deadPid(), birth: "x" });
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => claimFolder(folder)));
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(refused).toHaveLength(29);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: "folder_in_use" });
    expect(await readdir(folder)).toHaveLength(1);
  });

  test("never has two holders while many take it and give it back", async ({ folder }) => {
    let holders = 0;
    let turns = 0;
    const take = async () => {
      const claim = await claimFolder(folder).catch(() => null);
      if (claim === null) return;
      turns++;
      expect(++holders).toBe(1);
      await readdir(folder);
      holders--;
      await claim.release();
    };
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let i = 0; i < 25; i++) await take();
      }),
    );
    expect(turns).toBeGreaterThan(1);
    expect(await readdir(folder)).toHaveLength(1);
  });

  test("is not kept by a process that has the pid of a dead owner", async ({ folder }) => {
    await writeOwner(folder, 1, { pid: process.pid, birth: "of somebody before us" });
    await claimFolder(folder);
  });

  test("is kept by an owner that is alive", async ({ folder }) => {
    const us = await readProcess(process.pid);
    if (typeof us === "string") throw new Error(us);
    await writeOwner(folder, 1, { pid: process.pid, birth: us.birth });
    await expect(claimFolder(folder)).rejects.toMatchObject({ code: "folder_in_use" });
  });

  test("is kept when it cannot be told whether the owner is the same process", async ({ folder }) => {
    await writeOwner(folder, 1, { pid: process.pid, birth: null });
    await expect(claimFolder(folder)).rejects.toMatchObject({ code: "folder_in_use" });
  });

  test("is free when its file was torn by a power cut", async ({ folder }) => {
    await writeFile(join(folder, "owner.7.json"), "");
    await claimFolder(folder);
    expect(await readdir(folder)).toEqual(["owner.8.json"]);
  });
});

async function writeOwner(
  folder: string,
  generation: number,
  owner: { pid: number; birth: string | null },
): Promise<void> {
  const text = JSON.stringify({ ...owner, since: "2029-01-01T00:00:00.000Z" });
  await writeFile(join(folder, `owner.${generation}.json`), text);
}

async function deadPid(): Promise<number> {
  const child = spawn("true");
  await once(child, "exit");
  return child.pid ?? 0;
}
