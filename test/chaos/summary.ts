/** How much happened: a race in which nothing happened proves nothing. */

import { factsOf, isWait } from "./facts.ts";
import type { Exchange } from "./history.ts";
import type { Happened } from "./race.ts";
import { orderedPairs } from "./rules/line.ts";

export interface Summary {
  readonly requests: number;
  /** Requests by what was asked and what came of it. */
  readonly counts: Readonly<Record<string, number>>;
  readonly grants: number;
  /** Claims that were refused. */
  readonly refusals: number;
  /** Grants that took over from an owner whose lease had run out; known at the end. */
  readonly takeovers: number;
  readonly writes: number;
  readonly staleWrites: number;
  /** Grants to callers who had stood in line for more than a moment. */
  readonly waitsServed: number;
  /** Pairs of callers whose order was certain, and was held against the order of their grants. */
  readonly orderedPairs: number;
  readonly serversKilled: number;
  readonly postgresCrashes: number;
  readonly workersKilled: number;
  readonly pauses: number;
  /** Workers that were stopped while they held a lease, until after its end. */
  readonly pausedPastExpiry: number;
  readonly heartsLate: number;
}

const WAITED_MS = 50;

export function summarise({ history, pauses, workersKilled }: Happened): Summary {
  const { exchanges, disturbances } = history;
  const counts: Record<string, number> = {};
  for (const exchange of exchanges) {
    const name = nameOf(exchange);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  const facts = factsOf(history);
  const grants = facts.flatMap((one) => one.grants.filter(({ exchange }) => exchange !== null));
  const count = (name: string): number => counts[name] ?? 0;
  const disturbed = (kind: string): number => disturbances.filter((one) => one.kind === kind).length;
  return {
    requests: exchanges.length,
    counts: Object.fromEntries(Object.entries(counts).sort(([a], [b]) => a.localeCompare(b))),
    grants: grants.length,
    refusals: exchanges.filter(({ call, outcome }) => call.kind === "claim" && outcome.kind === "not_granted")
      .length,
    takeovers: (history.final ?? []).flatMap((final) =>
      final.grants.filter(({ ended }) => ended === "superseded"),
    ).length,
    writes: count("write written"),
    staleWrites: count("write stale_token"),
    waitsServed: grants.filter(
      ({ at, exchange }) => exchange && isWait(exchange) && at.low - exchange.startMs > WAITED_MS,
    ).length,
    orderedPairs: facts.reduce((sum, one) => sum + orderedPairs(one, disturbances), 0),
    serversKilled: disturbed("server_killed"),
    postgresCrashes: disturbed("postgres_down"),
    workersKilled,
    pauses: pauses.length,
    pausedPastExpiry: pauses.filter(({ owner, fromMs, untilMs }) =>
      grants.some(
        (grant) =>
          grant.owner === owner &&
          grant.expires !== null &&
          grant.at.low < untilMs &&
          grant.expires.low > fromMs &&
          grant.expires.high < untilMs,
      ),
    ).length,
    heartsLate: disturbed("heart_late"),
  };
}

function nameOf({ call, outcome }: Exchange): string {
  switch (outcome.kind) {
    case "refused":
      return `${call.kind} ${outcome.code}`;
    case "not_granted":
    case "not_released":
      return `${call.kind} ${outcome.kind} ${outcome.reason}`;
    case "cut":
      return `${call.kind} cut (${outcome.why})`;
    default:
      return `${call.kind} ${outcome.kind}`;
  }
}
