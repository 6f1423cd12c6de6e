/** No grant is lost: who was told of a grant finds it in the record's history, and nobody else does. */

import { effectWindow, type RecordFacts, type Window } from "../facts.ts";
import { releasedBy } from "../held.ts";
import {
  type Disturbance,
  type Exchange,
  type FinalRecord,
  type GrantSeen,
  type History,
  LEFT_MS,
} from "../history.ts";
import type { Violation } from "../violation.ts";

export function* grantsAreKept(facts: RecordFacts, final: FinalRecord | null): Generator<Violation> {
  for (const { id, outcome, startMs } of facts.exchanges) {
    if (outcome.kind !== "grants") continue;
    const oldest = outcome.complete ? 0 : (outcome.grants.at(-1)?.token ?? Infinity);
    yield* missingFrom(facts, outcome.grants, oldest, startMs, id);
  }
  if (final) yield* missingFrom(facts, final.grants, 0, Infinity, "the database at the end");
}

function* missingFrom(
  facts: RecordFacts,
  shown: readonly GrantSeen[],
  oldest: number,
  readMs: number,
  source: string,
): Generator<Violation> {
  const byToken = new Map(shown.map((grant) => [grant.token, grant]));
  for (const grant of facts.grants) {
    const { exchange, token, owner } = grant;
    if (exchange === null || exchange.endMs >= readMs || token < oldest) continue;
    const wrong = wrongWith(byToken.get(token), owner, releasedBy(facts, grant) < readMs);
    if (wrong === null) continue;
    yield {
      rule: "grant_lost",
      record: facts.record,
      detail: `token ${token}, granted to ${owner}, ${wrong}`,
      exchanges: [exchange.id, source],
    };
  }
}

function wrongWith(seen: GrantSeen | undefined, owner: string, wasReleased: boolean): string | null {
  if (!seen) return "is not in the history of claims";
  if (seen.owner !== owner) return `is ${seen.owner}'s in the history of claims`;
  if (seen.ended === "undelivered") return "was taken back as undelivered, though it was delivered";
  if (wasReleased && seen.ended !== "released") return `was released, and is said to be ${seen.ended}`;
  return null;
}

/** Every grant that the database knows was answered, or belongs to a request without an answer. */
export function* grantsWereAskedFor(
  records: readonly RecordFacts[],
  { exchanges, disturbances }: History,
): Generator<Violation> {
  const claims = Map.groupBy(
    exchanges.filter(({ call }) => call.kind === "claim" || call.kind === "claim-next"),
    ({ owner }) => owner,
  );
  for (const { record, grants } of records) {
    for (const grant of grants) {
      if (grant.exchange !== null) continue;
      const asked = (claims.get(grant.owner) ?? []).some((claim) => {
        const { low, high } = openWindow(claim, disturbances);
        return mayHaveAskedFor(claim, record) && low <= grant.at.high && high >= grant.at.low;
      });
      if (asked) continue;
      yield {
        rule: "grant_from_nowhere",
        record,
        detail: `the database has token ${grant.token} for ${grant.owner}, who was not told and has no open request`,
        exchanges: [],
      };
    }
  }
}

/** A grant may have been on its way for a while when the caller was answered `timeout`. */
function openWindow(claim: Exchange, disturbances: readonly Disturbance[]): Window {
  const { low, high } = effectWindow(claim, disturbances);
  return { low, high: claim.outcome.kind === "cut" ? high : high + LEFT_MS };
}

/** Without an answer, or answered `timeout` while the grant was on its way: then it was taken back. */
function mayHaveAskedFor({ call, outcome }: Exchange, record: string): boolean {
  const isTimeout = outcome.kind === "not_granted" && outcome.reason === "timeout";
  if (outcome.kind !== "cut" && !isTimeout) return false;
  return call.kind === "claim-next" || (call.kind === "claim" && call.record === record);
}

export function* marksAreRight(facts: RecordFacts, final: FinalRecord | null): Generator<Violation> {
  if (!final) return;
  const highest = Math.max(0, ...facts.grants.map(({ token }) => token));
  if (final.mark === highest) return;
  const detail = `the mark is ${final.mark} at the end, and the highest grant ${highest}`;
  yield { rule: "mark_wrong", record: facts.record, detail, exchanges: [] };
}
