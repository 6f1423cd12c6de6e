/** A real server process without a GitHub App, and a caller of its API. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiClient } from "../harness/api-client.ts";
import { ServerProcess } from "./server-process.ts";

const ADMIN_TOKEN = "lh_plain_server_admin_token_for_tests";
const REPOSITORY = "acme/widgets";
const CLOCK_SHIFT = join(import.meta.dirname, "shift-clock.ts");

export interface PlainServer {
  readonly process: ServerProcess;
  readonly api: ApiClient;
  stop(): Promise<void>;
}

/** `clockOffMs`: how far its own clock is off. */
export async function startPlainServer(databaseUrl: string, clockOffMs = 0): Promise<PlainServer> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-plain-"));
  const server = await ServerProcess.prepare({
    folder,
    env: {
      HOST: "127.0.0.1",
      DATABASE_URL: databaseUrl,
      DATA_DIR: folder,
      LEASEHOLD_ADMIN_TOKEN: ADMIN_TOKEN,
      LOG_LEVEL: "trace",
      ...(clockOffMs === 0 ? {} : { SHIFT_CLOCK_MS: String(clockOffMs) }),
    },
    ...(clockOffMs === 0 ? {} : { preload: CLOCK_SHIFT }),
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  await server.start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { process: server, api: new ApiClient(server.address, ADMIN_TOKEN, REPOSITORY), stop };
}
