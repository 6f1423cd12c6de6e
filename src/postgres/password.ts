import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedPostgresError } from "./embedded-error.ts";
import { ifMissing } from "./errno.ts";
import { replaceFile } from "./replace-file.ts";

/** Letters, digits, - and _ only, so that it stands in a URL as it is. */
export async function findOrMakePassword(folder: string): Promise<string> {
  const found = await findPassword(folder);
  if (found !== null) return found;
  const made = randomBytes(24).toString("base64url");
  await replaceFile(passwordPath(folder), `${made}\n`, 0o600);
  return made;
}

/** The password of a cluster that exists; without it there is no way in. */
export async function readPassword(folder: string): Promise<string> {
  const found = await findPassword(folder);
  if (found === null) throw passwordLost(folder, "is missing");
  return found;
}

/** For a password that is not there, or that PostgreSQL does not take. */
export function passwordLost(folder: string, problem: string, cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "password_lost",
    `The password of the database in ${folder} is kept in ${passwordPath(folder)}, and that file ${problem}. ` +
      `Put the right file back, or move ${folder} away to start with an empty database.`,
    { cause },
  );
}

async function findPassword(folder: string): Promise<string | null> {
  const text = await ifMissing(readFile(passwordPath(folder), "utf8"), "");
  return text.trim() === "" ? null : text.trim();
}

function passwordPath(folder: string): string {
  return join(folder, "password");
}
