/** The fence on the write path: no write is accepted that must not be. */

import type { Grant, RecordFacts } from "../facts.ts";
import { liveSpan, releasedBy } from "../held.ts";
import type { Exchange } from "../history.ts";
import { type Mark, MarkTimeline } from "../timeline.ts";
import type { Violation } from "../violation.ts";

export function* fenceHolds(facts: RecordFacts): Generator<Violation> {
  const timeline = new MarkTimeline(marksOf(facts));
  const granted = new Map(facts.grants.map((grant) => [grant.token, grant]));
  for (const exchange of facts.exchanges) {
    const { call, outcome } = exchange;
    if (call.kind !== "write" || outcome.kind !== "written") continue;
    const violation =
      call.token === null
        ? withoutToken(facts, exchange)
        : underToken(facts, exchange, call.token, granted.get(call.token), timeline);
    if (violation) yield violation;
  }
}

/** What shows that the mark had been reached by some time. */
function marksOf({ grants, exchanges }: RecordFacts): Mark[] {
  const marks = grants.map(({ at, token, exchange }) => ({
    atMs: at.high,
    token,
    source: exchange?.id ?? `grant ${token} in the database`,
  }));
  for (const { id, call, outcome, endMs } of exchanges) {
    const token =
      outcome.kind === "status"
        ? outcome.token
        : "token" in call && isSuccess(outcome.kind)
          ? call.token
          : null;
    if (token !== null) marks.push({ atMs: endMs, token, source: id });
  }
  return marks;
}

const isSuccess = (kind: Exchange["outcome"]["kind"]): boolean =>
  kind === "written" || kind === "granted" || kind === "released";

function underToken(
  facts: RecordFacts,
  { id, owner, startMs, endMs }: Exchange,
  token: number,
  grant: Grant | undefined,
  timeline: MarkTimeline,
): Violation | null {
  const { record } = facts;
  if (!grant || grant.at.low > endMs) {
    const detail = `a write of ${owner} under token ${token}, which nobody had been granted, was accepted`;
    return { rule: "write_with_unissued_token", record, detail, exchanges: [id] };
  }
  const mark = timeline.before(startMs);
  if (mark && mark.token > token) {
    const detail = `a write of ${owner} under token ${token} was accepted after token ${mark.token} was granted`;
    return { rule: "write_below_mark", record, detail, exchanges: [mark.source, id] };
  }
  if (releasedBy(facts, grant) < startMs) {
    const detail = `a write of ${owner} under token ${token} was accepted after its release`;
    return { rule: "write_after_release", record, detail, exchanges: [id] };
  }
  return null;
}

function withoutToken(facts: RecordFacts, { id, owner, startMs, endMs }: Exchange): Violation | null {
  for (const grant of facts.grants) {
    // One that only the database knows of may have been taken back.
    if (grant.at.high >= startMs || grant.exchange === null) continue;
    const live = liveSpan(facts, grant);
    if (live.from >= startMs || live.until <= endMs) continue;
    return {
      rule: "write_without_token",
      record: facts.record,
      detail: `${owner} wrote without a token while token ${grant.token} was live`,
      exchanges: [grant.exchange.id, id],
    };
  }
  return null;
}
