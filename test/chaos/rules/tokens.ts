/** Tokens strictly increase on each record, and none is ever issued twice, on whatever record. */

import type { Grant, RecordFacts } from "../facts.ts";
import type { Violation } from "../violation.ts";
import { nameOf } from "./exclusion.ts";

export function* tokensIncrease(facts: RecordFacts): Generator<Violation> {
  const byEnd = [...facts.grants].sort((a, b) => a.at.high - b.at.high);
  let ended = 0;
  let highest: Grant | null = null;
  for (const grant of facts.grants) {
    for (let next = byEnd[ended]; next && next.at.high < grant.at.low; next = byEnd[ended]) {
      if (highest === null || next.token > highest.token) highest = next;
      ended += 1;
    }
    if (highest === null || highest.token < grant.token) continue;
    yield {
      rule: "token_not_increasing",
      record: facts.record,
      detail: `token ${grant.token} was granted after token ${highest.token}`,
      exchanges: [highest, grant].map(nameOf),
    };
  }
}

export function* tokensAreUnique(records: readonly RecordFacts[]): Generator<Violation> {
  const seen = new Map<number, { record: string; grant: Grant }>();
  for (const { record, grants } of records) {
    for (const grant of grants) {
      const before = seen.get(grant.token);
      seen.set(grant.token, { record, grant });
      if (!before) continue;
      yield {
        rule: "token_issued_twice",
        record,
        detail: `token ${grant.token} was granted to ${before.grant.owner} on ${before.record} and to ${grant.owner}`,
        exchanges: [before.grant, grant].map(nameOf),
      };
    }
  }
}
