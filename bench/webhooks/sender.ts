/** GitHub's side, in a thread of its own: signed deliveries over kept-alive connections, as fast as they are taken or at a pace. */

import { parentPort, workerData } from "node:worker_threads";
import { HttpConnection } from "../claims/http-connection.ts";
import { type Backlog, FIRST_REPOSITORY, labeled, signatureOf } from "./payload.ts";

export interface Sending {
  readonly address: string;
  readonly path: string;
  readonly backlog: Backlog;
  readonly connections: number;
  /** So many deliveries, or as many as are taken in so many seconds. */
  readonly until: { readonly count: number } | { readonly seconds: number };
  /** Deliveries a second; null: as fast as they are taken. */
  readonly perSecond: number | null;
  /** Every delivery is news, and signed when it is sent; else few payloads are sent under ever new ids. */
  readonly isNews: boolean;
  /** Tells these deliveries' ids from those of other senders. */
  readonly prefix: string;
}

export interface Sent {
  readonly acknowledged: number;
  readonly refused: number;
  readonly seconds: number;
  /** Milliseconds until the answer. */
  readonly latencies: readonly number[];
  /** When each delivery was sent, by its number: milliseconds since the epoch. Empty where not asked for. */
  readonly sentAt: readonly number[];
}

interface Delivery {
  readonly body: Buffer;
  readonly signature: string;
}

/** Issues in a fixed order that goes round all repositories first. */
function deliveryOf(n: number, { repositories, issues }: Backlog): Delivery {
  const repositoryId = FIRST_REPOSITORY + (n % repositories);
  const issue = 1 + (Math.floor(n / repositories) % issues);
  const turn = 1 + Math.floor(n / (repositories * issues));
  const body = labeled(repositoryId, issue, turn);
  return { body, signature: signatureOf(body) };
}

async function send(sending: Sending): Promise<Sent> {
  const { backlog, until, perSecond } = sending;
  const few = sending.isNews ? [] : Array.from({ length: 500 }, (_, n) => deliveryOf(n, backlog));
  const connections = await Promise.all(
    Array.from({ length: sending.connections }, () => HttpConnection.open(sending.address, "")),
  );
  const latencies: number[] = [];
  const sentAt: number[] = [];
  let [next, refused] = [0, 0];
  const began = performance.now();
  const isOver = (): boolean =>
    "count" in until ? next >= until.count : performance.now() - began > until.seconds * 1000;

  const loop = async (connection: HttpConnection): Promise<void> => {
    while (!isOver()) {
      const n = next;
      next += 1;
      if (perSecond !== null) await reach(began + (n * 1000) / perSecond);
      const { body, signature } = few[n % few.length] ?? deliveryOf(n, backlog);
      const before = performance.now();
      sentAt[n] = performance.timeOrigin + before;
      const { status } = await connection.sendBytes(
        "POST",
        sending.path,
        body,
        `user-agent: GitHub-Hookshot/bench\r\nx-github-event: issues\r\nx-github-hook-id: 1\r\n` +
          `x-github-delivery: ${sending.prefix}-${n}\r\nx-hub-signature-256: ${signature}\r\n`,
      );
      if (status >= 200 && status < 300) latencies.push(performance.now() - before);
      else refused += 1;
    }
  };
  await Promise.all(connections.map(loop));
  const seconds = (performance.now() - began) / 1000;
  for (const connection of connections) connection.close();
  return {
    acknowledged: latencies.length,
    refused,
    seconds,
    latencies,
    sentAt: perSecond === null ? [] : sentAt,
  };
}

async function reach(at: number): Promise<void> {
  const left = at - performance.now();
  if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
}

parentPort?.postMessage(await send(workerData as Sending));
