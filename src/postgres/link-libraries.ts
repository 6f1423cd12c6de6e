import { readFile, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { hasErrno, ifMissing } from "./errno.ts";

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

/**
 * Makes the symbolic links that npm cannot ship (`libpq.so.5` and the like), as the package's own install script
 * does. Install scripts are often switched off, and without the links nothing starts.
 */
export async function linkLibraries(nativeFolder: string, targetFolder = nativeFolder): Promise<void> {
  for (const { source, target } of await readLinks(nativeFolder)) {
    const at = join(targetFolder, relative("native", target));
    try {
      await symlink(relative(dirname(target), source), at);
    } catch (error) {
      if (!hasErrno(error, "EEXIST")) throw error;
    }
  }
}

async function readLinks(nativeFolder: string): Promise<LibraryLink[]> {
  const text = await ifMissing(readFile(join(nativeFolder, "pg-symlinks.json"), "utf8"), "[]");
  const parsed: unknown = JSON.parse(text);
  return Array.isArray(parsed) ? parsed.filter(isLibraryLink) : [];
}

function isLibraryLink(value: unknown): value is LibraryLink {
  if (typeof value !== "object" || value === null || !("source" in value) || !("target" in value))
    return false;
  return typeof value.source === "string" && typeof value.target === "string";
}
