import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

export interface SourceFile {
  /** From the repository's root: `src/domain/fence.ts`. */
  readonly path: string;
  readonly source: string;
}

/** All files below the folder, whatever their names. */
export function filesBelow(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({
      path: file.slice(ROOT.length + 1).replaceAll("\\", "/"),
      source: readFileSync(file, "utf8"),
    }));
}
