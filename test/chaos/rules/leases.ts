/** A lease ends as long after its grant, or its renewal, as it was asked for, by the database's clock. */

import type { History } from "../history.ts";
import type { Violation } from "../violation.ts";

export function* leasesAsGranted({ exchanges, clockOffsetMs }: History): Generator<Violation> {
  for (const { id, call, outcome, startMs, endMs } of exchanges) {
    if (outcome.kind !== "granted" || !("leaseSeconds" in call)) continue;
    const beganLow = outcome.expiresAtMs - call.leaseSeconds * 1000 - clockOffsetMs.high;
    const beganHigh = outcome.expiresAtMs + 1 - call.leaseSeconds * 1000 - clockOffsetMs.low;
    if (beganLow <= endMs && beganHigh >= startMs) continue;
    const off = beganLow > endMs ? beganLow - endMs : beganHigh - startMs;
    yield {
      rule: "lease_not_as_granted",
      record: outcome.record,
      detail: `a lease of ${call.leaseSeconds} s ends as if it had begun ${Math.round(off)} ms away from its request`,
      exchanges: [id],
    };
  }
}
