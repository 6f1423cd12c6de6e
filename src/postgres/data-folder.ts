import { access, chmod, constants, lstat, mkdir, readdir, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedPostgresError } from "./embedded-error.ts";
import { hasErrno } from "./errno.ts";

/** Its presence says that the folder is ours. It is the first thing put into an empty folder. */
export const MARKER = "LEASEHOLD-POSTGRES.txt";

const MARKER_TEXT = `This folder belongs to Leasehold's embedded PostgreSQL. Leasehold finds its database here again.
Stop Leasehold before you copy, move or delete it.
If there is a file elsewhere.txt, the database itself is kept in the folder which that file names.
`;

/**
 * Makes the folder ours if it is missing or empty; refuses it, and leaves it as it is, if it holds anything else.
 * Gives its real path, so that it is the same folder by whatever name it is reached.
 */
export async function adoptFolder(folder: string): Promise<string> {
  const entries = await makeAndList(folder);
  if (entries.includes(MARKER)) await assertWritable(folder);
  else if (entries.length === 0) await mark(folder);
  else throw foreign(folder, `it holds other things (${entries.slice(0, 3).join(", ")})`);
  return realpath(folder);
}

/** In a place where anybody can make folders, one that somebody else prepared for us must not be used. */
export async function assertPrivate(folder: string): Promise<void> {
  const facts = await lstat(folder);
  const othersCanWrite = (facts.mode & 0o022) !== 0;
  if (!facts.isDirectory() || facts.uid !== process.getuid?.() || othersCanWrite) {
    throw foreign(folder, "another account made it or can write to it");
  }
}

/** Lets other accounts pass through to what is theirs in it, without letting them list it. */
export async function letOthersPass(folder: string): Promise<void> {
  const { mode } = await lstat(folder);
  if ((mode & 0o011) !== 0o011) await chmod(folder, (mode & 0o7777) | 0o011);
}

async function makeAndList(folder: string): Promise<string[]> {
  try {
    await mkdir(folder, { recursive: true });
    return await readdir(folder);
  } catch (error) {
    if (hasErrno(error, "EEXIST", "ENOTDIR")) throw foreign(folder, "it, or a part of its path, is a file");
    if (hasErrno(error, "EACCES", "EPERM", "EROFS")) throw notWritable(folder, error);
    throw error;
  }
}

async function mark(folder: string): Promise<void> {
  try {
    await writeFile(join(folder, MARKER), MARKER_TEXT, { flag: "wx", mode: 0o644 });
  } catch (error) {
    // Somebody starting at the same moment was quicker; who may go on is settled by the claim on the folder.
    if (!hasErrno(error, "EEXIST")) throw notWritable(folder, error);
  }
}

async function assertWritable(folder: string): Promise<void> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw notWritable(folder, error);
  }
}

function foreign(folder: string, why: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "folder_foreign",
    `${folder} is not a folder of Leasehold's embedded PostgreSQL: ${why}. Nothing in it was changed. ` +
      "Choose another DATA_DIR, or move that folder out of the way.",
  );
}

function notWritable(folder: string, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "folder_not_writable",
    `Leasehold keeps its embedded PostgreSQL in ${folder} and may not write there. Give this account the folder, ` +
      "or choose another DATA_DIR.",
    { cause },
  );
}
