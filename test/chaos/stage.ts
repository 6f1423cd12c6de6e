/** Where the race is run: a PostgreSQL, a fake GitHub, two servers, and a backlog with some notes beside it. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeGitHub } from "../fake-github/fake-github.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { Asker } from "./ask.ts";
import { DatabaseView } from "./database-view.ts";
import { FragilePostgres } from "./fragile-postgres.ts";
import type { RecordName } from "./history.ts";
import { ServerProcess } from "./server-process.ts";

const ADMIN_TOKEN = "lh_race_admin_token_only_for_the_race";
const REPOSITORY = "acme/race";
/** Long enough for a machine that has much else to do. */
const FILLED_MS = 240_000;
/** A worker that gives up does no harm here: the race is about claims, not about parking. */
const THRESHOLD = 1_000_000;
export const CLOCK_SHIFT = join(import.meta.dirname, "shift-clock.ts");

export interface StageOptions {
  readonly items: number;
  readonly notes: number;
  /** With fsync. */
  readonly durable: boolean;
  /** How far each server's own clock is off, in milliseconds. */
  readonly clockOffMs: readonly number[];
}

export interface Stage {
  readonly postgres: FragilePostgres;
  readonly database: DatabaseView;
  readonly github: FakeGitHub;
  readonly servers: readonly ServerProcess[];
  readonly items: readonly RecordName[];
  readonly notes: readonly RecordName[];
  /** A folder for whoever needs one. */
  readonly folder: string;
  caller(owner: string): Asker;
  /** Ends everything, whatever state it is in. Answers the exit codes of the servers that ran. */
  close(): Promise<(number | null)[]>;
}

export async function setStage(options: StageOptions): Promise<Stage> {
  const cleanUp: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const step of cleanUp.reverse()) await step().catch(() => {});
    cleanUp.length = 0;
  };
  try {
    const folder = await temporaryFolder("leasehold-race-", cleanUp);
    // A folder of its own, directly below the temporary one, where root's PostgreSQL gets to.
    const dataDir = await temporaryFolder("leasehold-race-db-", cleanUp);
    const postgres = await FragilePostgres.start(dataDir, options.durable);
    cleanUp.push(async () => {
      const home = await postgres.home();
      await postgres.stop();
      await rm(home, { recursive: true, force: true });
    });
    const github = await FakeGitHub.start();
    cleanUp.push(() => github.stop());
    const servers = await prepareServers(postgres.url, github, folder, options);
    const exitCodes: (number | null)[] = [];
    cleanUp.push(async () => {
      exitCodes.push(...(await Promise.all(servers.map((server) => server.stop()))));
    });
    const database = new DatabaseView(postgres.url);
    cleanUp.push(() => database.close());
    // Together: the one that comes first migrates.
    await Promise.all(servers.map((server) => server.start()));
    const items = await fillBacklog(github, servers, database, options.items);
    const notes = await makeNotes(servers, options.notes);
    return {
      postgres,
      database,
      github,
      servers,
      items,
      notes,
      folder,
      caller: (owner) => callerOf(servers, owner),
      close: async () => {
        await close();
        return exitCodes;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function temporaryFolder(prefix: string, cleanUp: (() => Promise<unknown>)[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  cleanUp.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const callerOf = (servers: readonly ServerProcess[], owner: string): Asker => ({
  owner,
  servers: servers.map(({ address }) => address),
  token: ADMIN_TOKEN,
  repository: REPOSITORY,
});

function prepareServers(
  databaseUrl: string,
  github: FakeGitHub,
  folder: string,
  { clockOffMs }: StageOptions,
): Promise<ServerProcess[]> {
  const env = {
    HOST: "127.0.0.1",
    DATABASE_URL: databaseUrl,
    DATA_DIR: folder,
    LEASEHOLD_ADMIN_TOKEN: ADMIN_TOKEN,
    LEASEHOLD_SWEEP_SECONDS: "5",
    APP_ID: String(github.app.id),
    PRIVATE_KEY: github.app.privateKey,
    WEBHOOK_SECRET: github.app.webhookSecret,
    GITHUB_API_URL: github.url,
    // What is raced for must be on GitHub soon.
    LEASEHOLD_WRITE_SPACING_MS: "0",
    LEASEHOLD_WRITES_PER_MINUTE: "0",
    LEASEHOLD_WRITES_PER_HOUR: "0",
    LOG_LEVEL: "warn",
  };
  return Promise.all(
    clockOffMs.map((offMs) =>
      ServerProcess.prepare({
        folder,
        env: { ...env, ...(offMs === 0 ? {} : { SHIFT_CLOCK_MS: String(offMs) }) },
        ...(offMs === 0 ? {} : { preload: CLOCK_SHIFT }),
      }),
    ),
  );
}

async function fillBacklog(
  github: FakeGitHub,
  servers: readonly ServerProcess[],
  database: DatabaseView,
  items: number,
): Promise<RecordName[]> {
  const repo = github.repository(REPOSITORY, { collaborators: { alice: "admin" } });
  const alice = repo.as("alice");
  const numbers = github.silently(() =>
    Array.from({ length: items }, (_, n) => alice.openIssue({ title: `Item ${n}`, labels: ["backlog"] })),
  );
  github.deliverTo(`${servers[0]?.address}/api/github/webhooks`);
  github.install(repo);
  await waitFor(
    `${items} items`,
    async () => {
      const found = await database.count("select count(*) as n from item where admitted");
      return found === items ? null : `there are ${found}`;
    },
    FILLED_MS,
  );
  // No configuration may ask for so many, and the program looks at its configuration again now and then.
  await database.run(`
    create function keep_threshold() returns trigger language plpgsql as $$
    begin new.settings := new.settings || '{"poisonThreshold": ${THRESHOLD}}'; return new; end $$`);
  await database.run(`
    create trigger keep_threshold before update of settings on repository
    for each row execute function keep_threshold()`);
  await database.run("update repository set settings = settings");
  return numbers.map((number) => `items/${number}`);
}

async function makeNotes(servers: readonly ServerProcess[], count: number): Promise<RecordName[]> {
  const notes = Array.from({ length: count }, (_, n) => `memory/notes/n${n}`);
  for (const note of notes) {
    const response = await fetch(`${servers[0]?.address}/api/v1/repos/${REPOSITORY}/${note}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ title: note }),
    });
    if (!response.ok) throw new Error(`a note was refused: ${response.status} ${await response.text()}`);
  }
  return notes;
}
