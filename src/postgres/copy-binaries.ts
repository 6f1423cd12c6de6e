import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BinaryPackage } from "./binaries.ts";
import { assertPrivate } from "./data-folder.ts";
import { hasErrno } from "./errno.ts";
import { linkLibraries } from "./link-libraries.ts";

/*
 * The sticky bit means nothing on a file, except to systemd-tmpfiles: it leaves such files alone when it sweeps
 * old ones out of /var/tmp, where half a PostgreSQL would otherwise be gone after a month.
 */
const PLAIN_FILE_MODE = 0o1644;
const PROGRAM_MODE = 0o1755;

/**
 * A copy of the programs that every account can run, made once for a version and found again afterwards; null
 * where no copy can be made. Several processes may do this at the same moment: each makes a copy under a name
 * of its own, and the first to rename it has made it for all.
 */
export async function copyBinaries(
  { nativeFolder, label }: BinaryPackage,
  isGood: (folder: string) => Promise<boolean>,
  log: (message: string, fields?: object) => void,
): Promise<string | null> {
  for (const place of new Set(["/var/tmp", tmpdir()])) {
    const target = join(place, `leasehold-postgres-${label}-for-uid-${process.getuid?.() ?? "any"}`);
    if (await isUsable(target, isGood)) return target;
    try {
      log("copying PostgreSQL's programs to where its account can run them", { folder: target });
      await makeCopy(nativeFolder, target, isGood);
      if (await isUsable(target, isGood)) return target;
    } catch (error) {
      // Read-only, full, or mounted without permission to run programs: the next place may do.
      log("PostgreSQL's programs could not be copied there", { folder: target, error: String(error) });
    }
  }
  return null;
}

async function isUsable(folder: string, isGood: (folder: string) => Promise<boolean>): Promise<boolean> {
  try {
    // Anybody may make folders there, and these programs are run.
    await assertPrivate(folder);
  } catch {
    return false;
  }
  return isGood(folder);
}

async function makeCopy(
  nativeFolder: string,
  target: string,
  isGood: (folder: string) => Promise<boolean>,
): Promise<void> {
  const draft = await mkdtemp(`${target}.draft-`);
  try {
    await copyTree(nativeFolder, draft);
    await linkLibraries(nativeFolder, draft);
    await chmod(draft, 0o755);
    await putInPlace(draft, target, isGood);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function putInPlace(
  draft: string,
  target: string,
  isGood: (folder: string) => Promise<boolean>,
): Promise<void> {
  try {
    await rename(draft, target);
  } catch (error) {
    if (!hasErrno(error, "ENOTEMPTY", "EEXIST")) throw error;
    if (await isUsable(target, isGood)) return;
    // What is there is broken. Moved aside rather than deleted in place, so that nobody meets half of it.
    const broken = `${draft}-broken`;
    await rename(target, broken);
    await rename(draft, target);
    await rm(broken, { recursive: true, force: true });
  }
}

async function copyTree(from: string, to: string): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true });
  await Promise.all(
    entries.map(async (entry) => {
      const [source, target] = [join(from, entry.name), join(to, entry.name)];
      if (entry.isDirectory()) {
        await mkdir(target);
        await copyTree(source, target);
        await chmod(target, 0o755);
      } else if (entry.isFile() && !entry.name.endsWith(".a")) {
        await copyFile(source, target);
        await chmod(target, from.endsWith("/bin") ? PROGRAM_MODE : PLAIN_FILE_MODE);
      }
    }),
  );
}
