import { randomUUID } from "node:crypto";
import { link, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedPostgresError } from "./embedded-error.ts";
import { hasErrno, ifMissing } from "./errno.ts";
import { readProcess } from "./process-facts.ts";
import { replaceFile } from "./replace-file.ts";

/*
 * One process at a time owns a folder.
 *
 * What must hold: of any number of starts, at whatever moments, at most one owns the folder; an owner that was
 * killed does not keep it; and a pid that came round again is not taken for the owner.
 *
 * The owner is written down in `owner.<n>.json`, and only the file with the highest n counts. Taking over means
 * making the file n+1 with link(2), which appears whole or fails because somebody else was quicker. Deleting a
 * dead owner's file and making it again would not do: of two processes that both read the dead one, the slower
 * would delete the file of the quicker. For the same reason a release does not delete the file but marks it:
 * numbers only ever grow, so whoever acts on an old reading either finds his number taken or, after making his
 * file, finds a higher one and steps back.
 *
 * Limit: two containers that share a folder cannot see each other's processes, and each takes the other for dead.
 */

interface OwnerFile {
  readonly pid: number;
  /** Tells this process from a later one with the same pid; null where the system does not say. */
  readonly birth: string | null;
  readonly since: string;
  readonly released?: string;
}

/** Holds the folder until it is released or this process ends. */
export interface FolderClaim {
  /** Never rejects. */
  release(): Promise<void>;
}

/** Takes the folder for this process, or throws `folder_in_use` naming the process that has it. */
export async function claimFolder(folder: string): Promise<FolderClaim> {
  const us = await describeOurselves();
  const draft = join(folder, `owner-draft-${randomUUID()}`);
  await writeFile(draft, toText(us), { flag: "wx", mode: 0o644 });
  try {
    for (;;) {
      const newest = await findNewest(folder);
      const owner = newest === 0 ? null : await readOwner(folder, newest);
      if (owner !== null && (await isAlive(owner))) throw inUse(folder, owner);
      if (await take(folder, draft, newest + 1)) {
        return { release: () => release(folder, newest + 1, us) };
      }
    }
  } finally {
    await rm(draft, { force: true });
  }
}

async function take(folder: string, draft: string, generation: number): Promise<boolean> {
  try {
    await link(draft, ownerPath(folder, generation));
  } catch (error) {
    if (hasErrno(error, "EEXIST")) return false;
    throw error;
  }
  const all = await listGenerations(folder);
  if (Math.max(...all) > generation) {
    await rm(ownerPath(folder, generation), { force: true });
    return false;
  }
  const older = all.filter((other) => other < generation);
  await Promise.all(older.map((other) => rm(ownerPath(folder, other), { force: true })));
  return true;
}

async function release(folder: string, generation: number, us: OwnerFile): Promise<void> {
  const released = toText({ ...us, released: new Date().toISOString() });
  // If it cannot be written down, since the disk is full or the folder was deleted, our own end will free the folder.
  await replaceFile(ownerPath(folder, generation), released).catch(() => {});
}

async function describeOurselves(): Promise<OwnerFile> {
  const facts = await readProcess(process.pid);
  const birth = typeof facts === "string" ? null : facts.birth;
  return { pid: process.pid, birth, since: new Date().toISOString() };
}

async function isAlive(owner: OwnerFile): Promise<boolean> {
  if (owner.released !== undefined) return false;
  const facts = await readProcess(owner.pid);
  if (facts === "gone") return false;
  // What cannot be told apart is taken for the owner: refusing is safe, two servers on one folder are not.
  return facts === "hidden" || owner.birth === null || facts.birth === owner.birth;
}

async function findNewest(folder: string): Promise<number> {
  return Math.max(0, ...(await listGenerations(folder)));
}

async function listGenerations(folder: string): Promise<number[]> {
  const entries = await readdir(folder);
  return entries.flatMap((entry) => {
    const generation = /^owner\.(\d+)\.json$/.exec(entry)?.[1];
    return generation === undefined ? [] : [Number(generation)];
  });
}

/** Null when the file went away since it was listed, or holds nothing that we wrote. */
async function readOwner(folder: string, generation: number): Promise<OwnerFile | null> {
  const text = await ifMissing(readFile(ownerPath(folder, generation), "utf8"), "");
  try {
    const parsed: unknown = JSON.parse(text);
    return isOwnerFile(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function isOwnerFile(value: unknown): value is OwnerFile {
  if (typeof value !== "object" || value === null) return false;
  if (!("pid" in value && "birth" in value && "since" in value)) return false;
  return Number.isSafeInteger(value.pid) && typeof value.since === "string";
}

function ownerPath(folder: string, generation: number): string {
  return join(folder, `owner.${generation}.json`);
}

function toText(owner: OwnerFile): string {
  return `${JSON.stringify(owner, null, 2)}\n`;
}

function inUse(folder: string, owner: OwnerFile): EmbeddedPostgresError {
  const whose = owner.pid === process.pid ? "this very process" : `the process with pid ${owner.pid}`;
  return new EmbeddedPostgresError(
    "folder_in_use",
    `The database in ${folder} is in use by ${whose} (pid ${owner.pid}), since ${owner.since}. ` +
      "Stop that Leasehold first, or give this one a DATA_DIR of its own.",
  );
}
