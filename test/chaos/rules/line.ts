/** The line: first in, first out; who does not wait never overtakes; nobody waits who is not there. */

import { effectWindow, isWait, type RecordFacts } from "../facts.ts";
import type { Disturbance, Exchange } from "../history.ts";
import type { Violation } from "../violation.ts";

export function* lineIsFair(facts: RecordFacts, disturbances: readonly Disturbance[]): Generator<Violation> {
  const waits = facts.exchanges.filter(isWait);
  for (const status of facts.exchanges) {
    if (status.outcome.kind !== "status") continue;
    const { queueDepth } = status.outcome;
    const present = presentAt(waits, status, disturbances);
    if (queueDepth > present.length) yield phantom(facts, status, queueDepth, present);
  }
  for (const [wait, since] of certainlyQueued(facts, disturbances))
    yield* overtakers(facts, disturbances, wait, since);
}

/** Who may have been in line when it was looked at. */
const presentAt = (
  waits: readonly Exchange[],
  { startMs, endMs }: Exchange,
  disturbances: readonly Disturbance[],
): readonly Exchange[] =>
  waits.filter((wait) => wait.startMs <= endMs && effectWindow(wait, disturbances).high >= startMs);

/** Those who were certainly in line, and since when: as many were seen there as can have been there at all. */
function certainlyQueued(facts: RecordFacts, disturbances: readonly Disturbance[]): Map<Exchange, number> {
  const waits = facts.exchanges.filter(isWait);
  const queued = new Map<Exchange, number>();
  for (const status of facts.exchanges) {
    if (status.outcome.kind !== "status") continue;
    const present = presentAt(waits, status, disturbances);
    if (status.outcome.queueDepth !== present.length) continue;
    for (const wait of present) queued.set(wait, Math.min(queued.get(wait) ?? Infinity, status.endMs));
  }
  return queued;
}

/**
 * How often the order of two callers was certain, and nothing excused another one: grants to those who came while
 * somebody certainly stood in line.
 */
export function orderedPairs(facts: RecordFacts, disturbances: readonly Disturbance[]): number {
  let pairs = 0;
  for (const [wait, since] of certainlyQueued(facts, disturbances)) {
    const until = inLineUntil(facts, wait);
    for (const { at, exchange } of facts.grants) {
      if (exchange === null || exchange.startMs <= since || exchange.startMs >= until) continue;
      if (!isExcused(disturbances, wait, since, Math.min(at.high, until))) pairs += 1;
    }
  }
  return pairs;
}

const phantom = (
  { record }: RecordFacts,
  status: Exchange,
  depth: number,
  present: readonly Exchange[],
): Violation => ({
  rule: "phantom_waiter",
  record,
  detail: `${depth} were said to wait, and at most ${present.length} can`,
  exchanges: [status.id, ...present.map(({ id }) => id)],
});

function* overtakers(
  facts: RecordFacts,
  disturbances: readonly Disturbance[],
  wait: Exchange,
  since: number,
): Generator<Violation> {
  const until = inLineUntil(facts, wait);
  for (const { at, exchange, token, owner } of facts.grants) {
    if (at.low <= since || at.high >= until || exchange === null || exchange === wait) continue;
    const waited = isWait(exchange);
    if (waited && exchange.startMs <= since) continue;
    if (isExcused(disturbances, wait, since, at.high)) continue;
    const how = waited ? "came later" : "did not wait";
    yield {
      rule: waited ? "waiter_overtaken" : "overtaken_by_hasty",
      record: facts.record,
      detail: `${owner}, who ${how}, was granted token ${token} while ${wait.owner} was in line`,
      exchanges: [wait.id, exchange.id],
    };
  }
}

/** Up to when the waiter was certainly still in line. */
function inLineUntil({ grants }: RecordFacts, wait: Exchange): number {
  const { call, outcome } = wait;
  if (outcome.kind === "granted") {
    return grants.find(({ exchange }) => exchange === wait)?.at.low ?? -Infinity;
  }
  const isTimeout = outcome.kind === "not_granted" && outcome.reason === "timeout";
  if (!isTimeout || call.kind !== "claim") return -Infinity;
  return wait.startMs + call.maxWaitSeconds * 1000;
}

/** Whether the waiter's process may have been taken for dead meanwhile. */
const isExcused = (
  disturbances: readonly Disturbance[],
  wait: Exchange,
  since: number,
  until: number,
): boolean => disturbances.some((disturbance) => excuses(disturbance, wait, since, until));

function excuses(disturbance: Disturbance, wait: Exchange, since: number, until: number): boolean {
  switch (disturbance.kind) {
    case "server_killed":
      return (
        disturbance.server === wait.server && disturbance.atMs >= wait.startMs && disturbance.atMs <= until
      );
    case "postgres_down":
    case "heart_late":
      return disturbance.fromMs <= until && disturbance.untilMs >= since;
  }
}
