import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { hasErrno } from "./errno.ts";

/** A port of 127.0.0.1 that was free a moment ago. Somebody may take it before it is used: be ready to ask again. */
export async function findFreePort(): Promise<number> {
  return listenOnce(0);
}

/** Whether a port of 127.0.0.1 is taken. Not being allowed to use it is another matter, left to PostgreSQL to report. */
export async function isPortTaken(port: number): Promise<boolean> {
  try {
    await listenOnce(port);
    return false;
  } catch (error) {
    return hasErrno(error, "EADDRINUSE");
  }
}

async function listenOnce(port: number): Promise<number> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: got } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return got;
}
