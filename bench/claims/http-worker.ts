/** The callers over HTTP, in a thread of their own: what they cost is not the server's. */

import { parentPort, workerData } from "node:worker_threads";
import { type HttpAnswer, HttpConnection } from "./http-connection.ts";
import { measure } from "./measure.ts";
import { type Client, type ProgramName, program } from "./programs.ts";

export interface HttpLoad {
  readonly address: string;
  readonly token: string;
  readonly program: ProgramName;
  readonly callers: number;
  readonly items: number;
  readonly seconds: number;
}

const R = "/api/v1/repos/acme/widgets";

/** Each call takes a connection that is not in use; there are as many as callers. */
function httpClient(free: HttpConnection[]): Client {
  const send = async (method: string, path: string, body: object, headers?: string): Promise<HttpAnswer> => {
    const connection = free.pop();
    if (!connection) throw new Error("more calls than connections");
    const answer = await connection.send(method, R + path, body, headers);
    free.push(connection);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  return {
    claim: async (number, leaseSeconds) => {
      const { body } = await send("POST", `/items/${number}/claim`, { owner: "worker/7f3a", leaseSeconds });
      return body.granted ? body.fencingToken : null;
    },
    renew: async (number, fencingToken) => {
      const { body } = await send("POST", `/items/${number}/claim/renew`, {
        fencingToken,
        leaseSeconds: 900,
      });
      if (!body.granted) throw new Error(`a renewal was refused: ${body.reason}`);
    },
    write: async (number, token, body) =>
      void (await send("PATCH", `/memory/backlog/issue-${number}`, { body }, `fencing-token: ${token}\r\n`)),
    release: async (number, fencingToken) => {
      const { body } = await send("POST", `/items/${number}/claim/release`, { fencingToken });
      if (!body.released) throw new Error(`a release was refused: ${body.reason}`);
    },
  };
}

const load = workerData as HttpLoad;
const connections = await Promise.all(
  Array.from({ length: load.callers }, () => HttpConnection.open(load.address, load.token)),
);
const work = await program(load.program, httpClient([...connections]), load.callers, load.items);
const slice = await measure(load.callers, load.seconds, work);
for (const connection of connections) connection.close();
parentPort?.postMessage(slice);
