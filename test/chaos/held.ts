/** When a holder was beyond doubt the holder. */

import type { Grant, RecordFacts } from "./facts.ts";

/** From `from` until before `until`. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** The earliest time at which the holder may have given it back. */
export const releasedFrom = ({ releases }: RecordFacts, { token }: Grant): number =>
  Math.min(...(releases.get(token) ?? []).map(({ startMs }) => startMs));

/** The earliest time by which the holder certainly had given it back. */
export const releasedBy = ({ releases }: RecordFacts, { token }: Grant): number =>
  Math.min(
    ...(releases.get(token) ?? []).flatMap(({ outcome, endMs }) =>
      outcome.kind === "released" ? [endMs] : [],
    ),
  );

/** When the lease certainly ran, from the grant and from each renewal; a later renewal may have shortened it. */
export function heldSpans(facts: RecordFacts, grant: Grant): Span[] {
  if (grant.expires === null) return [];
  const renewals = facts.renewals.get(grant.token) ?? [];
  const promises = [{ at: grant.at, expires: grant.expires }, ...renewals.filter(({ certain }) => certain)];
  const released = releasedFrom(facts, grant);
  return promises
    .map((promise) => {
      const shortened = renewals
        .filter((renewal) => renewal.at !== promise.at && renewal.at.high >= promise.at.low)
        .map((renewal) => Math.max(renewal.at.low, renewal.expires.low));
      return { from: promise.at.high, until: Math.min(promise.expires.low, released, ...shortened) };
    })
    .filter(({ from, until }) => from < until);
}

/**
 * When the record was certainly live under this grant: until a release, or until somebody else may have been granted
 * it, which cannot be before the lease's end.
 */
export function liveSpan(facts: RecordFacts, grant: Grant): Span {
  const from = grant.at.high;
  const heldUntil = Math.max(from, ...heldSpans(facts, grant).map(({ until }) => until));
  const others = [
    ...facts.grants.filter(({ token }) => token !== grant.token).map(({ at }) => at),
    ...facts.unknownClaims,
  ];
  const next = Math.min(
    ...others.filter(({ high }) => high >= grant.at.low).map(({ low }) => Math.max(low, from)),
  );
  return { from, until: Math.min(releasedFrom(facts, grant), Math.max(heldUntil, next)) };
}
