/** What Leasehold is compared with: Probot as its documentation has it, with a handler that does nothing and keeps nothing. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createNodeMiddleware, Probot } from "probot";
import { SECRET } from "./payload.ts";

export interface BareProbot {
  readonly address: string;
  readonly path: string;
  stop(): Promise<void>;
}

export async function startBareProbot(privateKey: string): Promise<BareProbot> {
  const probot = new Probot({ appId: 1, privateKey, secret: SECRET, logLevel: "error" });
  const app = (bare: Probot): void => bare.on("issues.labeled", async () => {});
  const server = createServer(await createNodeMiddleware(app, { probot }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    path: "/api/github/webhooks",
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
