/** Parts of small histories: one request each, at a time, on two records. */

import type { Call, Exchange, FinalRecord, History, Outcome } from "./history.ts";

export const R = "notes/n1";
export const S = "notes/n2";
let count = 0;

/** One request, from a start to an end. */
export function ask(
  owner: string,
  [startMs, endMs]: readonly [number, number],
  call: Call,
  outcome: Outcome,
): Exchange {
  count += 1;
  return { id: `x${count}`, owner, server: 0, startMs, endMs, call, outcome };
}

/** The two clocks are the same here. */
export const lease = (record: string, token: number, atMs: number, seconds = 10): Outcome => ({
  kind: "granted",
  record,
  token,
  leaseSeconds: seconds,
  expiresAtMs: atMs + seconds * 1000,
});
export const claim = (owner: string, token: number, atMs: number, record = R, seconds = 10): Exchange =>
  ask(
    owner,
    [atMs - 5, atMs + 5],
    { kind: "claim", record, leaseSeconds: seconds, maxWaitSeconds: 0 },
    lease(record, token, atMs, seconds),
  );
export const wait = (owner: string, [from, to]: readonly [number, number], outcome: Outcome): Exchange =>
  ask(owner, [from, to], { kind: "claim", record: R, leaseSeconds: 10, maxWaitSeconds: 30 }, outcome);
export const renew = (owner: string, token: number, atMs: number): Exchange =>
  ask(
    owner,
    [atMs - 5, atMs + 5],
    { kind: "renew", record: R, token, leaseSeconds: 10 },
    lease(R, token, atMs),
  );
export const release = (
  owner: string,
  token: number,
  atMs: number,
  outcome: Outcome = { kind: "released" },
): Exchange => ask(owner, [atMs - 5, atMs + 5], { kind: "release", record: R, token }, outcome);
export const write = (
  owner: string,
  token: number | null,
  atMs: number,
  outcome: Outcome = { kind: "written" },
): Exchange =>
  ask(owner, [atMs - 5, atMs + 5], { kind: "write", record: R, token, text: `${owner} at ${atMs}` }, outcome);
export const read = (text: string | null, atMs: number): Exchange =>
  ask("reader", [atMs - 5, atMs + 5], { kind: "read", record: R }, { kind: "text", text });
export const depth = (queueDepth: number, atMs: number): Exchange =>
  ask(
    "reader",
    [atMs - 5, atMs + 5],
    { kind: "status", record: R },
    { kind: "status", token: null, queueDepth },
  );
export const shown = (
  atMs: number,
  ...grants: [owner: string, token: number, ended: string | null][]
): Exchange =>
  ask(
    "reader",
    [atMs - 5, atMs + 5],
    { kind: "grants", record: R },
    {
      kind: "grants",
      complete: true,
      grants: grants.map(([owner, token, ended]) => ({ owner, token, ended })),
    },
  );
export const refused = (code: string): Outcome => ({ kind: "refused", status: 409, code });
export const story = (exchanges: Exchange[], final: FinalRecord[] | null = null): History => ({
  clockOffsetMs: { low: -1, high: 1 },
  exchanges,
  disturbances: [],
  final,
});
export const atTheEnd = (mark: number, text: string | null, grants: FinalRecord["grants"]): FinalRecord[] => [
  { record: R, mark, text, grants },
];
export const stored = (token: number, owner: string, grantedAtMs: number, ended: string | null = null) => ({
  token,
  owner,
  grantedAtMs,
  ended,
});

export const served = (from: number, to: number, owner: string, token: number, atMs: number): Exchange =>
  wait(owner, [from, to], lease(R, token, atMs));
