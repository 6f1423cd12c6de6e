/** The bootstrap admin token: given, or made at the first start and kept beside the data. */

import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface AdminToken {
  readonly token: string;
  /** Where it lies, for the start-up message. */
  readonly source: string;
  /** Made just now: it is printed this once. */
  readonly isNew: boolean;
}

export async function adminToken(given: string | null, dataDir: string): Promise<AdminToken> {
  if (given !== null) return { token: given, source: "LEASEHOLD_ADMIN_TOKEN", isNew: false };
  const path = join(dataDir, "admin-token");
  await mkdir(dataDir, { recursive: true });
  const token = `lh_${randomBytes(32).toString("base64url")}`;
  try {
    // Exclusive: of two processes that start together, one makes the token and both use it.
    await writeFile(path, `${token}\n`, { mode: 0o600, flag: "wx" });
    return { token, source: path, isNew: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const kept = (await readFile(path, "utf8")).trim();
    if (kept.length < 16) throw new Error(`${path} holds no token; delete the file and start again`);
    return { token: kept, source: path, isNew: false };
  }
}
