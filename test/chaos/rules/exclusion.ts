/** At most one valid holder of a record at any time. */

import type { Grant, RecordFacts } from "../facts.ts";
import { heldSpans, type Span } from "../held.ts";
import type { Violation } from "../violation.ts";

export function oneHolder(facts: RecordFacts): Violation[] {
  const held = facts.grants
    .flatMap((grant) => heldSpans(facts, grant).map((span) => ({ grant, span })))
    .sort((a, b) => a.span.from - b.span.from);
  return [...grantsWhileHeld(facts, held), ...spansThatOverlap(facts, held)];
}

interface Held {
  readonly grant: Grant;
  readonly span: Span;
}

/** A grant whose every possible instant lies within another's lease. */
function* grantsWhileHeld(facts: RecordFacts, held: readonly Held[]): Generator<Violation> {
  let first = 0;
  for (const { grant, span } of held) {
    while ((facts.grants[first]?.at.low ?? Infinity) <= span.from) first += 1;
    for (let at = first; (facts.grants[at]?.at.low ?? Infinity) < span.until; at += 1) {
      const other = facts.grants[at];
      if (other && other.token !== grant.token && other.at.high < span.until)
        yield twoHolders(facts, grant, other);
    }
  }
}

/** Two leases that certainly ran at the same time. */
function* spansThatOverlap(facts: RecordFacts, held: readonly Held[]): Generator<Violation> {
  for (const [index, { grant, span }] of held.entries()) {
    for (let at = index + 1; (held[at]?.span.from ?? Infinity) < span.until; at += 1) {
      const other = held[at]?.grant;
      if (other && other.token !== grant.token) yield twoHolders(facts, grant, other);
    }
  }
}

const twoHolders = ({ record }: RecordFacts, one: Grant, other: Grant): Violation => ({
  rule: "two_holders",
  record,
  detail: `${other.owner} was granted token ${other.token} while ${one.owner} held token ${one.token}`,
  exchanges: [one, other].map(nameOf),
});

export const nameOf = ({ exchange, token }: Grant): string =>
  exchange?.id ?? `grant ${token} in the database`;
