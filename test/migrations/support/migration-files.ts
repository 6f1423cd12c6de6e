/** The migrations as files, and folders that hold some of them: the program as it was, or as it must never be. */

import { copyFile, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const MIGRATIONS = join(import.meta.dirname, "../../../migrations");
export const ROWS = join(import.meta.dirname, "../rows");

/** `0001_spine`, … in order. */
export async function migrationNames(): Promise<string[]> {
  const files = await readdir(MIGRATIONS);
  return files
    .filter((file) => file.endsWith(".sql"))
    .map((file) => file.replace(/\.sql$/, ""))
    .sort();
}

/** `0001` of `0001_spine`. */
export const numberOf = (name: string): string => name.split("_", 1)[0] ?? "";

/** A folder with these of the migrations, and with others by their name and text. */
export async function folderWith(
  names: readonly string[],
  more: Record<string, string> = {},
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-migrations-"));
  for (const name of names) await copyFile(join(MIGRATIONS, `${name}.sql`), join(folder, `${name}.sql`));
  for (const [name, text] of Object.entries(more)) await writeFile(join(folder, `${name}.sql`), text);
  return folder;
}
