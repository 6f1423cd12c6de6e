/** The real program on some PostgreSQL, with items and notes to claim, and every token that it granted. */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApp } from "../../../src/app.ts";
import type { Config } from "../../../src/config.ts";
import { ApiClient } from "../../harness/api-client.ts";
import { recordedLog } from "../../harness/recorded-log.ts";

const ADMIN_TOKEN = "lh_restores_admin_token_0123456789";
const REPOSITORY = "acme/widgets";

const CONFIG: Config = {
  host: "127.0.0.1",
  port: 0,
  databaseUrl: null,
  dataDir: tmpdir(),
  envFile: join(tmpdir(), "leasehold-restores.env"),
  app: null,
  githubApiUrl: "http://127.0.0.1:9",
  adminToken: ADMIN_TOKEN,
  region: "local",
  defaultLeaseSeconds: 30,
  maxLeaseSeconds: 1800,
  sweepSeconds: 3600,
  reconcileSeconds: 86_400,
  logLevel: "debug",
  prettyLogs: false,
};

/** What was granted on a record: `/items/7` or `/memory/locks/slot-7`. */
export interface Grant {
  readonly path: string;
  readonly token: number;
}

export interface Program {
  /** Takes and gives back the claim of every item and every note, all at once. */
  useAll(): Promise<Grant[]>;
  /** Writes to a record under a token; answers the status and the code of a refusal. */
  write(path: string, token: number): Promise<{ status: number; code: string | undefined }>;
  claim(path: string): Promise<Grant>;
  /** What the log says of raises: the level, and above which token and why. */
  raises(): { level: number; detail: unknown }[];
  stop(): Promise<void>;
}

export async function startProgram(databaseUrl: string): Promise<Program> {
  const logged = recordedLog();
  const app = await startApp({
    config: CONFIG,
    databaseUrl,
    adminToken: ADMIN_TOKEN,
    version: "test",
    log: logged.log,
  });
  const api = new ApiClient(app.address, ADMIN_TOKEN, REPOSITORY);
  const claim = async (path: string): Promise<Grant> => {
    const answer = await api.repo("POST", `${path}/claim`, { body: { owner: "worker/1" } });
    if (!answer.granted) throw new Error(`${path} was refused: ${JSON.stringify(answer)}`);
    return { path, token: answer.fencingToken };
  };
  const use = async (path: string): Promise<Grant> => {
    const grant = await claim(path);
    await api.repo("POST", `${path}/claim/release`, { body: { fencingToken: grant.token } });
    return grant;
  };
  return {
    claim,
    useAll: () => Promise.all(PATHS.map(use)),
    write: async (path, token) => {
      const number = path.split("/").at(-1);
      const record = path.startsWith("/items/") ? `/memory/backlog/issue-${number}` : path;
      const { status, body } = await api.tryRepo("PATCH", record, {
        fence: token,
        body: { tags: { add: ["seen"] } },
      });
      return { status, code: body.code };
    },
    raises: () =>
      logged.lines
        .filter(({ msg }) => msg === "fencing tokens were raised")
        .map(({ level, detail }) => ({ level, detail })),
    stop: () => app.stop(),
  };
}

/** Twice this is more than the 32 values by which PostgreSQL's log is ahead of a sequence. */
export const COUNT = 20;
const PATHS = Array.from({ length: COUNT }, (_, index) => [
  `/items/${index + 1}`,
  `/memory/locks/slot-${index + 1}`,
]).flat();

/** Fails unless each token was granted once, and those of a record only went up. */
export function expectNoTokenTwice(...lives: readonly Grant[][]): void {
  const seen = new Map<number, string>();
  const highest = new Map<string, number>();
  for (const { path, token } of lives.flat()) {
    const before = seen.get(token);
    if (before !== undefined) throw new Error(`token ${token} was granted on ${before} and on ${path}`);
    seen.set(token, path);
    const mark = highest.get(path) ?? 0;
    if (token <= mark) throw new Error(`${path} was granted ${token} after ${mark}`);
    highest.set(path, token);
  }
}
