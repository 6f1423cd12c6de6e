import {
  chown,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import { EmbeddedPostgresError } from "./embedded-error.ts";
import { ifMissing } from "./errno.ts";
import { spawnGuarded } from "./guarded-process.ts";
import type { Home } from "./home.ts";
import { findOrMakePassword } from "./password.ts";
import { openFreshLog, readLogTail } from "./server-log.ts";

/** The superuser and the database, both of this name. */
export const DATABASE = "leasehold";

/*
 * A half-made cluster looks much like a whole one from outside. So initdb works in a draft folder, and only
 * what it finished gets the name `cluster`, by a rename. Drafts that are found are from runs that died.
 */
const DRAFT_PREFIX = "cluster-draft-";

/** Makes the cluster unless there is one, and makes sure that these binaries can read it. */
export async function ensureCluster(
  home: Home,
  binaries: Binaries,
  options: { sync: boolean; log: (message: string, fields?: object) => void },
): Promise<void> {
  await removeDrafts(home.folder);
  if ((await ifMissing(stat(home.cluster), null)) === null) {
    options.log("making a new PostgreSQL database folder", { folder: home.cluster });
    await makeCluster(home, binaries, options.sync);
  }
  await assertVersion(home.cluster, binaries.major);
}

async function makeCluster(home: Home, binaries: Binaries, sync: boolean): Promise<void> {
  const password = await findOrMakePassword(home.folder);
  const draft = await mkdtemp(join(home.folder, DRAFT_PREFIX));
  const data = join(draft, "data");
  const passwordFile = join(draft, "password");
  await mkdir(data, { mode: 0o700 });
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (home.user !== null) {
    for (const path of [passwordFile, data, draft]) await chown(path, home.user.uid, home.user.gid);
  }
  await runInitdb(home, binaries, [
    `--pgdata=${data}`,
    `--pwfile=${passwordFile}`,
    `--username=${DATABASE}`,
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
    "--auth=scram-sha-256",
    ...(sync ? [] : ["--no-sync"]),
  ]);
  await rename(data, home.cluster);
  if (sync) await syncFolder(home.folder);
  await rm(draft, { recursive: true, force: true });
}

async function runInitdb(home: Home, binaries: Binaries, args: string[]): Promise<void> {
  const logPath = join(home.folder, "initdb.log");
  const output = await openFreshLog(logPath);
  try {
    const initdb = await spawnGuarded(binaries.initdb, args, { user: home.user, outputFd: output.fd });
    const { code, signal } = await initdb.exited;
    if (code === 0) return;
    throw new EmbeddedPostgresError(
      "start_failed",
      `PostgreSQL's initdb could not make a database in ${home.folder} (${signal ?? `exit code ${code}`}). ` +
        `The end of ${logPath}:\n${await readLogTail(logPath)}`,
    );
  } finally {
    await output.close();
  }
}

async function removeDrafts(folder: string): Promise<void> {
  const drafts = (await readdir(folder)).filter((entry) => entry.startsWith(DRAFT_PREFIX));
  for (const draft of drafts) {
    // An initdb whose owner was killed may still be writing its last file.
    await rm(join(folder, draft), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

async function assertVersion(cluster: string, major: string): Promise<void> {
  const found = (await ifMissing(readFile(join(cluster, "PG_VERSION"), "utf8"), "")).trim();
  if (found === major) return;
  if (found === "") {
    throw new EmbeddedPostgresError(
      "cluster_damaged",
      `The database in ${cluster} is damaged: its file PG_VERSION is missing. Leasehold left it as it is. ` +
        "Restore it from a backup, or move that folder away to start with an empty database.",
    );
  }
  throw new EmbeddedPostgresError(
    "version_mismatch",
    `The database in ${cluster} was made by PostgreSQL ${found}, and this Leasehold brings PostgreSQL ${major}, ` +
      `which cannot read it. To keep the data, run the Leasehold that made it, take a dump with pg_dump, move the ` +
      "folder away, start this Leasehold and restore the dump. To start with an empty database, move the folder away.",
  );
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
