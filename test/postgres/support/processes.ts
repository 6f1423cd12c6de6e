import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { readProcess } from "../../../src/postgres/process-facts.ts";

/** The pid of the server on a data folder, as PostgreSQL itself wrote it down. */
export async function serverPid(home: string): Promise<number> {
  return Number((await readFile(join(home, "cluster", "postmaster.pid"), "utf8")).split("\n")[0]);
}

export async function expectGone(pid: number): Promise<void> {
  await expect.poll(() => readProcess(pid), { timeout: 15_000, interval: 20 }).toBe("gone");
}
