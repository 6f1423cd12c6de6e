import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as base, vi } from "vitest";
import {
  type EmbeddedOptions,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../../src/postgres/embedded.ts";
import { Holder } from "./holder.ts";
import { expectGone, serverPid } from "./processes.ts";

// Making a cluster takes a second, and several files of tests may do so at once.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

interface Running {
  readonly servers: EmbeddedPostgres[];
  readonly holders: Holder[];
  readonly dataDirs: Set<string>;
}

interface Bench {
  /** A data folder whose cluster is made once for all tests of a file; nothing runs on it between tests. */
  sharedDataDir: string;
  /** An empty temporary folder, deleted afterwards. */
  folder: string;
  /** What has to end before the folders can be deleted. */
  running: Running;
  /** Starts in this process; what is still running afterwards is stopped. */
  start(dataDir: string, options?: Partial<EmbeddedOptions>): Promise<EmbeddedPostgres>;
  /** Starts in another process, killed afterwards. */
  hold(dataDir: string, account?: { uid: number; gid: number }): Holder;
}

export const test = base.extend<Bench>({
  sharedDataDir: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest wants the pattern
    async ({}, use) => {
      const folder = await makeFolder();
      const dataDir = join(folder, "data");
      await (await startQuickly(dataDir)).stop();
      await use(dataDir);
      await rm(folder, { recursive: true, force: true });
    },
    { scope: "file" },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: vitest wants the pattern
  folder: async ({}, use) => {
    const folder = await makeFolder();
    await use(folder);
    await rm(folder, { recursive: true, force: true });
  },
  running: async ({ folder: _ }, use) => {
    const running: Running = { servers: [], holders: [], dataDirs: new Set() };
    await use(running);
    await Promise.all(running.holders.map((holder) => holder.killHard()));
    await Promise.all(running.servers.map((server) => server.stop()));
    for (const dataDir of running.dataDirs) {
      const pid = await serverPid(dataDir).catch(() => null);
      if (pid !== null) await expectGone(pid);
      await removeElsewhere(dataDir);
    }
  },
  start: async ({ running }, use) => {
    await use(async (dataDir, options) => {
      running.dataDirs.add(dataDir);
      const server = await startQuickly(dataDir, options);
      running.servers.push(server);
      return server;
    });
  },
  hold: async ({ running }, use) => {
    await use((dataDir, account) => {
      running.dataDirs.add(dataDir);
      const holder = new Holder(dataDir, account);
      running.holders.push(holder);
      return holder;
    });
  },
});

function startQuickly(dataDir: string, options: Partial<EmbeddedOptions> = {}): Promise<EmbeddedPostgres> {
  const settings = { fsync: "off", ...options.settings };
  return startEmbeddedPostgres({ log: () => {}, ...options, dataDir, settings });
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-postgres-test-"));
  // So that under root PostgreSQL's account can pass through to what is below.
  await chmod(folder, 0o711);
  return folder;
}

async function removeElsewhere(dataDir: string): Promise<void> {
  const elsewhere = (await readFile(join(dataDir, "elsewhere.txt"), "utf8").catch(() => "")).trim();
  if (elsewhere.startsWith(tmpdir())) await rm(elsewhere, { recursive: true, force: true });
}
