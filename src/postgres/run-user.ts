import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { EmbeddedPostgresError } from "./embedded-error.ts";
import { hasErrno, ifMissing } from "./errno.ts";

const run = promisify(execFile);

/** The account PostgreSQL runs under when it cannot be ours, since PostgreSQL refuses to run as root. */
export interface RunUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * The other account to run PostgreSQL as, or null for our own.
 *
 * Root gives a cluster that exists to the account that owns it, so that `sudo npm start` once does not spoil
 * the folder for the person whose it is. A new cluster goes to `postgres`, else to `nobody`.
 */
export async function chooseRunUser(cluster: string): Promise<RunUser | null> {
  const ourUid = process.getuid?.();
  const owner = await ifMissing(stat(cluster), null);
  if (ourUid === 0) {
    if (owner !== null && owner.uid !== 0) {
      return { name: `uid ${owner.uid}`, uid: owner.uid, gid: owner.gid };
    }
    return pickServiceAccount(await ifMissing(readFile("/etc/passwd", "utf8"), ""));
  }
  if (owner !== null && ourUid !== undefined && owner.uid !== ourUid) {
    throw new EmbeddedPostgresError(
      "folder_not_writable",
      `The database in ${cluster} belongs to the account with uid ${owner.uid}, and this process runs as uid ` +
        `${ourUid}. Start Leasehold from that account, or choose another DATA_DIR.`,
    );
  }
  return null;
}

/** `postgres`, else `nobody`, out of the text of /etc/passwd. */
export function pickServiceAccount(passwd: string): RunUser {
  const accounts = passwd.split("\n").map((line) => line.split(":"));
  for (const wanted of ["postgres", "nobody"]) {
    const [name, , uid, gid] = accounts.find(([name]) => name === wanted) ?? [];
    if (name !== undefined && Number(uid) > 0 && Number(gid) > 0) {
      return { name, uid: Number(uid), gid: Number(gid) };
    }
  }
  throw new EmbeddedPostgresError(
    "no_run_user",
    "PostgreSQL refuses to run as root, and this machine has neither a user postgres nor a user nobody to run it " +
      "as. Start Leasehold as an ordinary user, or set DATABASE_URL to a PostgreSQL server of your own.",
  );
}

/** Whether that account can go into the folder, found by trying: mode bits alone do not tell (ACLs, mounts). */
export async function canEnter(user: RunUser, folder: string): Promise<boolean> {
  try {
    await run("/bin/sh", ["-c", 'cd -- "$1"', "sh", folder], { ...spawnAs(user) });
    return true;
  } catch (error) {
    // The shell ran and said no. Anything else, such as not being allowed to switch accounts, is no answer.
    if (error instanceof Error && "code" in error && typeof error.code === "number") return false;
    if (hasErrno(error, "EPERM", "EINVAL")) {
      throw new EmbeddedPostgresError(
        "no_run_user",
        `PostgreSQL refuses to run as root, and this process may not switch to the user ${user.name} ` +
          `(uid ${user.uid}). Start Leasehold as an ordinary user, or set DATABASE_URL to a PostgreSQL server of ` +
          "your own.",
        { cause: error },
      );
    }
    throw error;
  }
}

/**
 * Spawn options that make a child run as this account. The environment is nearly empty, so that PGDATA,
 * LD_LIBRARY_PATH or a locale of the caller cannot change what PostgreSQL does; the working folder is one
 * that everybody can enter.
 */
export function spawnAs(user: RunUser | null) {
  const base = { cwd: "/", env: { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" } };
  return user === null ? base : { ...base, uid: user.uid, gid: user.gid };
}
