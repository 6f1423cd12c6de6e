/** PostgreSQL clusters of a test's own, and copies of their folders: what backups and standbys are made of. */

import {
  chmod,
  chown,
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { vi } from "vitest";
import { prepareBinaries } from "../../../src/postgres/binaries.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../../src/postgres/embedded.ts";
import { findFreePort } from "../../../src/postgres/free-port.ts";
import { type GuardedProcess, spawnGuarded } from "../../../src/postgres/guarded-process.ts";
import { ELSEWHERE } from "../../../src/postgres/home.ts";
import { chooseRunUser } from "../../../src/postgres/run-user.ts";
import { serverArguments } from "../../../src/postgres/settings.ts";
import { stopProcess } from "../../../src/postgres/stop-process.ts";
import { waitFor } from "../../harness/wait-for.ts";

// A cluster takes seconds to make, and other files of tests may make some at the same time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const SETTINGS = { fsync: "off", full_page_writes: "off", synchronous_commit: "off" };

export interface TestCluster {
  readonly url: string;
  /** The folder that PostgreSQL works in. */
  readonly folder: string;
  stop(): Promise<void>;
  /** Cuts all sessions at once and writes nothing down, as a machine that is lost. */
  crash(): Promise<void>;
  /** Stops it, and deletes its folder. */
  remove(): Promise<void>;
}

/** A new cluster. */
export async function startCluster(): Promise<TestCluster> {
  const dataDir = await mkdtemp(join(tmpdir(), "leasehold-restores-"));
  const postgres: EmbeddedPostgres = await startEmbeddedPostgres({
    dataDir,
    settings: SETTINGS,
    log: () => {},
  });
  const home = (await readFile(join(dataDir, ELSEWHERE), "utf8").catch(() => dataDir)).trim();
  return {
    url: postgres.url,
    folder: join(home, "cluster"),
    stop: () => postgres.stop(),
    crash: async () => {
      const pid = await readFile(join(home, "cluster", "postmaster.pid"), "utf8");
      process.kill(Number(pid.split("\n", 1)[0]), "SIGQUIT");
      await postgres.exited;
    },
    remove: async () => {
      await postgres.stop();
      for (const folder of [home, dataDir]) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL on a copied folder, with the users and passwords of the cluster that it was copied of. */
export async function startOnFolder(folder: string, like: TestCluster): Promise<TestCluster> {
  const user = await chooseRunUser(folder);
  const binaries = await prepareBinaries(user, () => {});
  const port = await findFreePort();
  const output = await open(join(folder, "..", "postgres.log"), "a");
  let server: GuardedProcess;
  try {
    const args = serverArguments(folder, port, SETTINGS);
    server = await spawnGuarded(binaries.postgres, args, { user, outputFd: output.fd });
  } finally {
    await output.close();
  }
  const url = new URL(like.url);
  url.port = String(port);
  await waitFor("the copy to serve", () => complaintOf(url.href));
  const stop = () => stopProcess(server);
  return {
    url: url.href,
    folder,
    stop,
    crash: async () => {
      server.kill("SIGQUIT");
      await server.exited;
    },
    remove: async () => {
      await stop();
      await rm(join(folder, ".."), { recursive: true, force: true });
    },
  };
}

async function complaintOf(url: string): Promise<string | null> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return null;
  } catch (error) {
    return String(error);
  } finally {
    await client.end().catch(() => {});
  }
}

/** A copy of a folder that no server is running on. */
export async function copyFolder(cluster: TestCluster): Promise<string> {
  const copy = join(await mkdtemp(join(tmpdir(), "leasehold-restores-")), "cluster");
  await chmod(join(copy, ".."), 0o711);
  await copyTree(cluster.folder, copy);
  return copy;
}

/** A base backup of a running cluster, as pg_basebackup takes it: npm brings no such program. */
export async function baseBackup(cluster: TestCluster): Promise<string> {
  const client = new Client({ connectionString: cluster.url });
  await client.connect();
  try {
    await client.query("select pg_backup_start('test', true)");
    const copy = await copyFolder(cluster);
    const { rows } = await client.query<{ label: string }>(
      "select labelfile as label from pg_backup_stop(false)",
    );
    await writeAs(copy, "backup_label", rows[0]?.label ?? "");
    await rm(join(copy, "postmaster.pid"), { force: true });
    return copy;
  } finally {
    await client.end();
  }
}

/** Makes a base backup a standby that follows its primary. */
export async function makeStandby(folder: string, primary: TestCluster): Promise<void> {
  const { hostname, port, username, password } = new URL(primary.url);
  const conninfo = `host=${hostname} port=${port} user=${username} password=${password}`;
  await writeAs(folder, "standby.signal", "");
  const auto = await readFile(join(folder, "postgresql.auto.conf"), "utf8");
  await writeAs(folder, "postgresql.auto.conf", `${auto}primary_conninfo = '${conninfo}'\n`);
}

async function writeAs(folder: string, name: string, text: string): Promise<void> {
  const path = join(folder, name);
  await writeFile(path, text);
  const { uid, gid } = await stat(folder);
  await chown(path, uid, gid);
}

/** Of a running cluster files may vanish meanwhile, and its sockets and logs are not needed. */
async function copyTree(from: string, to: string): Promise<void> {
  const { uid, gid, mode } = await stat(from);
  await mkdir(to, { mode });
  await chown(to, uid, gid);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyTree(source, target);
    else if (entry.isFile()) {
      try {
        await copyFile(source, target);
        await chown(target, uid, gid);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    }
  }
}
