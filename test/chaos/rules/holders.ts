/** Renewals end with the claim, and nobody who holds a claim is refused without a cause. */

import type { Grant, RecordFacts, Renewal } from "../facts.ts";
import { heldSpans, releasedBy, releasedFrom } from "../held.ts";
import type { Exchange } from "../history.ts";
import type { Violation } from "../violation.ts";

export function* renewalsEnd(facts: RecordFacts): Generator<Violation> {
  for (const [token, renewals] of facts.renewals) {
    const grant = facts.grants.find((candidate) => candidate.token === token);
    for (const renewal of renewals.filter(({ certain }) => certain)) {
      const why = grant ? renewedAfter(facts, grant, renewal) : "that was never granted";
      if (why === null) continue;
      yield {
        rule: "renewed_after_end",
        record: facts.record,
        detail: `token ${token} was renewed ${why}`,
        exchanges: [renewal.exchange.id],
      };
    }
  }
}

function renewedAfter(facts: RecordFacts, grant: Grant, renewal: Renewal): string | null {
  const newer = facts.grants.find(({ token, at }) => token > grant.token && at.high < renewal.at.low);
  if (newer) return `after token ${newer.token} was granted`;
  if (releasedBy(facts, grant) < renewal.at.low) return "after its release";
  if (grant.expires === null) return null;
  const before = (facts.renewals.get(grant.token) ?? []).filter(
    (other) => other !== renewal && other.at.low <= renewal.at.high,
  );
  const lapsed = Math.max(grant.expires.high, ...before.map(({ expires }) => expires.high));
  return lapsed < renewal.at.low ? "after its lease had run out" : null;
}

export function* refusalsHaveCauses(facts: RecordFacts): Generator<Violation> {
  const granted = new Map(facts.grants.map((grant) => [grant.token, grant]));
  for (const exchange of facts.exchanges) {
    const { call } = exchange;
    if (call.kind !== "write" && call.kind !== "renew" && call.kind !== "release") continue;
    const said = refusalOf(exchange);
    if (said === null) continue;
    const grant = call.token === null ? undefined : granted.get(call.token);
    if (hasCause(facts, exchange, said, grant)) continue;
    yield {
      rule: "refused_without_cause",
      record: facts.record,
      detail: `${exchange.owner}'s ${call.kind} under token ${call.token} was answered ${said}`,
      exchanges: [exchange.id],
    };
  }
}

function refusalOf({ outcome }: Exchange): string | null {
  if (outcome.kind === "refused") return outcome.code;
  return outcome.kind === "not_granted" || outcome.kind === "not_released" ? outcome.reason : null;
}

function hasCause(facts: RecordFacts, exchange: Exchange, said: string, grant: Grant | undefined): boolean {
  const { startMs, endMs } = exchange;
  const byThen = ({ low }: { low: number }) => low <= endMs;
  if (said === "claim_required")
    return facts.grants.some(({ at }) => byThen(at)) || facts.unknownClaims.some(byThen);
  // Strangers to the record are refused for good reason.
  if (!grant || grant.at.high > startMs) return true;
  if (heldSpans(facts, grant).some(({ from, until }) => from < startMs && endMs < until)) return false;
  switch (said) {
    case "unissued_token":
      return false;
    case "stale_token":
    case "stale":
      return (
        facts.grants.some(({ token, at }) => token > grant.token && byThen(at)) ||
        facts.unknownClaims.some((claim) => byThen(claim))
      );
    case "claim_released":
    case "unclaimed":
      return releasedFrom(facts, grant) <= endMs;
    default:
      return true;
  }
}
