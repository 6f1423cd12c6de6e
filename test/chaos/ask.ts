/** Sends a call to a server and writes down what came of it, and when. */

import {
  ClaimAnswer,
  ClaimHistory,
  ClaimNextAnswer,
  ClaimStatus,
  ReleaseAnswer,
  RenewAnswer,
} from "../../src/contract/claims.ts";
import { RecallAnswer } from "../../src/contract/memory.ts";
import { nowMs } from "./clock.ts";
import type { Call, Exchange, Outcome } from "./history.ts";

/** Hears of every request before it is sent, so that those whose sender is killed are known too. */
export interface Journal {
  begin(exchange: Opened): void;
  end(exchange: Exchange): void;
}

export type Opened = Omit<Exchange, "endMs" | "outcome">;

export interface Asker {
  readonly owner: string;
  /** Addresses of the servers. */
  readonly servers: readonly string[];
  readonly token: string;
  /** `owner/name` of the repository. */
  readonly repository: string;
}

/** No answer so long after the longest wait counts as cut. */
const PATIENCE_MS = 30_000;
const NO_ANSWER = "no answer in time";
let count = 0;

export async function ask(
  asker: Asker,
  journal: Journal,
  server: number,
  call: Call,
  hangUp?: AbortSignal,
): Promise<Exchange> {
  count += 1;
  const opened: Opened = {
    id: `${asker.owner}#${count}`,
    owner: asker.owner,
    server,
    startMs: nowMs(),
    call,
  };
  journal.begin(opened);
  const outcome = await send(asker, server, call, hangUp).catch((error: unknown) =>
    failed(error, hangUp?.aborted ?? false),
  );
  const exchange: Exchange = { ...opened, endMs: nowMs(), outcome };
  journal.end(exchange);
  return exchange;
}

/** A refused connection carried nothing; of any other failure nobody knows. */
function failed(error: unknown, hungUp: boolean): Outcome {
  const { cause, name, message } = error as Error & { cause?: { code?: string } };
  if (cause?.code === "ECONNREFUSED") return { kind: "unsent" };
  const why = hungUp
    ? "hung up"
    : (cause?.code ?? (name === "TimeoutError" ? NO_ANSWER : `${name}: ${message}`));
  return { kind: "cut", why, answered: false };
}

async function send(asker: Asker, server: number, call: Call, hangUp?: AbortSignal): Promise<Outcome> {
  const { method, path, body, fence } = requestOf(call, asker.owner);
  const waitMs = call.kind === "claim" ? call.maxWaitSeconds * 1000 : 0;
  const signals = [AbortSignal.timeout(waitMs + PATIENCE_MS), ...(hangUp ? [hangUp] : [])];
  const response = await fetch(`${asker.servers[server]}/api/v1/repos/${asker.repository}/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${asker.token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(fence === undefined ? {} : { "fencing-token": String(fence) }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.any(signals),
  });
  const answer: unknown = JSON.parse(await response.text());
  if (response.status === 200) return understood(call, answer);
  const { code = "" } = answer as { code?: string };
  // A server that failed half way does not say how far it came.
  if (response.status >= 500) return { kind: "cut", why: `${response.status} ${code}`, answered: true };
  return { kind: "refused", status: response.status, code };
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly fence?: number;
}

function requestOf(call: Call, owner: string): Request {
  switch (call.kind) {
    case "claim": {
      const { leaseSeconds, maxWaitSeconds } = call;
      return { method: "POST", path: `${call.record}/claim`, body: { owner, leaseSeconds, maxWaitSeconds } };
    }
    case "claim-next":
      return { method: "POST", path: "claim-next", body: { owner, leaseSeconds: call.leaseSeconds } };
    case "renew": {
      const body = { fencingToken: call.token, leaseSeconds: call.leaseSeconds };
      return { method: "POST", path: `${call.record}/claim/renew`, body };
    }
    case "release":
      return { method: "POST", path: `${call.record}/claim/release`, body: { fencingToken: call.token } };
    case "write": {
      const fence = call.token === null ? {} : { fence: call.token };
      return { method: "PATCH", path: memoryPath(call.record), body: { body: call.text }, ...fence };
    }
    case "read":
      return { method: "GET", path: memoryPath(call.record) };
    case "status":
      return { method: "GET", path: `${call.record}/claim` };
    case "grants":
      return { method: "GET", path: `${call.record}/claims?limit=100` };
  }
}

/** An item's record is in the topic `backlog`. */
const memoryPath = (record: string): string => record.replace(/^items\//, "memory/backlog/issue-");

/** Every answer is held against the contract. */
function understood(call: Call, answer: unknown): Outcome {
  switch (call.kind) {
    case "claim":
      return claimed(ClaimAnswer.parse(answer));
    case "claim-next":
      return claimed(ClaimNextAnswer.parse(answer));
    case "renew": {
      const renewal = RenewAnswer.parse(answer);
      if (!renewal.granted) return { kind: "not_granted", reason: renewal.reason };
      const { fencingToken: token, leaseSeconds, leaseExpiresAt } = renewal;
      return {
        kind: "granted",
        record: call.record,
        token,
        leaseSeconds,
        expiresAtMs: Date.parse(leaseExpiresAt),
      };
    }
    case "release": {
      const release = ReleaseAnswer.parse(answer);
      return release.released ? { kind: "released" } : { kind: "not_released", reason: release.reason };
    }
    case "write":
      return { kind: "written" };
    case "read": {
      const record = RecallAnswer.parse(answer);
      return { kind: "text", text: record.exists ? record.body : null };
    }
    case "status": {
      const { fencingToken: token, queueDepth } = ClaimStatus.parse(answer);
      return { kind: "status", token, queueDepth };
    }
    case "grants": {
      const { claims, nextCursor } = ClaimHistory.parse(answer);
      const grants = claims.map(({ fencingToken, owner, ended }) => ({ token: fencingToken, owner, ended }));
      return { kind: "grants", grants, complete: nextCursor === null };
    }
  }
}

function claimed(answer: ClaimAnswer | ClaimNextAnswer): Outcome {
  if (!answer.granted) return { kind: "not_granted", reason: answer.reason };
  const { key, fencingToken: token, leaseSeconds, leaseExpiresAt } = answer;
  return {
    kind: "granted",
    record: recordOfKey(key),
    token,
    leaseSeconds,
    expiresAtMs: Date.parse(leaseExpiresAt),
  };
}

const recordOfKey = (key: string): string =>
  key
    .split("/")
    .slice(3)
    .join("/")
    .replace(/^mem\/backlog\/issue-/, "items/")
    .replace(/^mem\//, "memory/");
