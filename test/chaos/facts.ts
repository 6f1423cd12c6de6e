/**
 * Facts about one record, drawn from the history. Nothing is known to have happened at an instant, only within a
 * window; the rules complain of what no choice of instants could explain.
 */

import {
  BACK_MS,
  type Disturbance,
  type Exchange,
  type History,
  LATE_MS,
  LEFT_MS,
  type RecordName,
} from "./history.ts";

/** Something happened at some time from `low` to `high`. */
export interface Window {
  readonly low: number;
  readonly high: number;
}

export interface Grant {
  readonly token: number;
  readonly owner: string;
  readonly at: Window;
  /** When the lease runs out, as it was promised; null for a grant that only the database knows of. */
  readonly expires: Window | null;
  /** The request that was answered with it, unless only the database knows of it. */
  readonly exchange: Exchange | null;
}

/** A renewal that was granted, or one without an answer, which may have moved the lease's end. */
export interface Renewal {
  readonly at: Window;
  readonly expires: Window;
  readonly certain: boolean;
  readonly exchange: Exchange;
}

export interface RecordFacts {
  readonly record: RecordName;
  /** By time. */
  readonly grants: readonly Grant[];
  readonly renewals: ReadonlyMap<number, readonly Renewal[]>;
  /** Requests to release a token that may have ended its claim. */
  readonly releases: ReadonlyMap<number, readonly Exchange[]>;
  /** Claims that may have been granted without anybody's being told. */
  readonly unknownClaims: readonly Window[];
  readonly exchanges: readonly Exchange[];
}

/** The facts of every record that the history mentions. */
export function factsOf(history: History): RecordFacts[] {
  const windowOf = (exchange: Exchange): Window => effectWindow(exchange, history.disturbances);
  const byRecord = Map.groupBy(
    history.exchanges.filter(({ outcome }) => outcome.kind !== "unsent"),
    recordOf,
  );
  const anywhere = (byRecord.get(null) ?? []).filter(mayHaveBeenDone).map(windowOf);
  const finals = new Map((history.final ?? []).map((final) => [final.record, final]));
  const names = new Set([...byRecord.keys(), ...finals.keys()].filter((name) => name !== null));
  return [...names].map((record) => {
    const exchanges = byRecord.get(record) ?? [];
    const answered = exchanges.flatMap((exchange) => grantOf(exchange, history));
    const known = new Set(answered.map(({ token }) => token));
    const stored = (finals.get(record)?.grants ?? [])
      .filter(({ token }) => !known.has(token))
      .map(
        ({ token, owner, grantedAtMs }): Grant => ({
          token,
          owner,
          at: onOurClock(grantedAtMs, history),
          expires: null,
          exchange: null,
        }),
      );
    return {
      record,
      grants: [...answered, ...stored].sort((a, b) => a.at.low - b.at.low),
      renewals: Map.groupBy(
        exchanges.flatMap((exchange) => renewalOf(exchange, history)),
        ({ exchange }) => ("token" in exchange.call ? (exchange.call.token ?? 0) : 0),
      ),
      releases: Map.groupBy(exchanges.filter(mayHaveReleased), ({ call }) =>
        call.kind === "release" ? call.token : 0,
      ),
      unknownClaims: [
        ...exchanges.filter((e) => e.call.kind === "claim" && mayHaveBeenDone(e)).map(windowOf),
        ...anywhere,
      ],
      exchanges,
    };
  });
}

/** `claim-next` belongs to the record that it was granted; null: to any. */
function recordOf({ call, outcome }: Exchange): RecordName | null {
  if (call.kind !== "claim-next") return call.record;
  return outcome.kind === "granted" ? outcome.record : null;
}

/** Not answered, and perhaps carried out. */
export const mayHaveBeenDone = ({ outcome }: Exchange): boolean => outcome.kind === "cut";

/**
 * When an exchange may have had its effect. A waiting claim that was cut may still be served at the server, and while
 * the database is away nobody can give up a place in the line, nor answer how far he came.
 */
export function effectWindow(exchange: Exchange, disturbances: readonly Disturbance[]): Window {
  const { call, outcome, startMs, endMs, server } = exchange;
  const low = startMs;
  const back = backAfter(exchange, disturbances);
  const leftUntil = Math.max(endMs, back) + LEFT_MS;
  if (outcome.kind !== "cut") {
    const mayBeLeft = isWait(exchange) && outcome.kind !== "granted" && back > -Infinity;
    return { low, high: mayBeLeft ? leftUntil : endMs };
  }
  if (outcome.answered) return { low, high: leftUntil };
  const killed = disturbances.find(
    (one) =>
      one.kind === "server_killed" && one.server === server && one.atMs >= startMs && one.atMs <= endMs,
  );
  if (killed) return { low, high: leftUntil };
  const waited = call.kind === "claim" ? startMs + call.maxWaitSeconds * 1000 : startMs;
  return { low, high: Math.max(endMs, waited) + LATE_MS };
}

export const isWait = ({ call }: Exchange): boolean => call.kind === "claim" && call.maxWaitSeconds > 0;

/** When the database had come back, if it was away while the exchange went on or hardly before; else -Infinity. */
const backAfter = ({ startMs, endMs }: Exchange, disturbances: readonly Disturbance[]): number =>
  Math.max(
    ...disturbances.flatMap((one) =>
      one.kind === "postgres_down" && one.fromMs <= endMs && one.untilMs + BACK_MS >= startMs
        ? [one.untilMs]
        : [],
    ),
  );

/** A time of the database's clock, in whole milliseconds cut off. */
function onOurClock(databaseMs: number, { clockOffsetMs }: History): Window {
  return { low: databaseMs - clockOffsetMs.high, high: databaseMs + 1 - clockOffsetMs.low };
}

/** The lease's end tells when the database granted it: better than the request's start and end. */
function leaseWindows(exchange: Exchange, history: History): { at: Window; expires: Window } | null {
  const { outcome } = exchange;
  if (outcome.kind !== "granted") return null;
  const expires = onOurClock(outcome.expiresAtMs, history);
  const leaseMs = outcome.leaseSeconds * 1000;
  const at = {
    low: Math.max(exchange.startMs, expires.low - leaseMs),
    high: Math.min(exchange.endMs, expires.high - leaseMs),
  };
  // A lease that fits no instant of the request is another rule's complaint.
  return { at: at.low <= at.high ? at : { low: exchange.startMs, high: exchange.endMs }, expires };
}

function grantOf(exchange: Exchange, history: History): Grant[] {
  const { call, outcome } = exchange;
  if (call.kind !== "claim" && call.kind !== "claim-next") return [];
  const windows = leaseWindows(exchange, history);
  if (outcome.kind !== "granted" || windows === null) return [];
  return [{ token: outcome.token, owner: exchange.owner, ...windows, exchange }];
}

function renewalOf(exchange: Exchange, history: History): Renewal[] {
  const { call } = exchange;
  if (call.kind !== "renew") return [];
  const windows = leaseWindows(exchange, history);
  if (windows) return [{ ...windows, certain: true, exchange }];
  if (!mayHaveBeenDone(exchange)) return [];
  const at = effectWindow(exchange, history.disturbances);
  const leaseMs = call.leaseSeconds * 1000;
  return [{ at, expires: { low: at.low + leaseMs, high: at.high + leaseMs }, certain: false, exchange }];
}

const mayHaveReleased = ({ call, outcome }: Exchange): boolean =>
  call.kind === "release" && (outcome.kind === "released" || outcome.kind === "cut");
