/** No accepted write is lost, and no refused one is found: what is read is the last write, or a later one. */

import { effectWindow, type RecordFacts } from "../facts.ts";
import type { Disturbance, Exchange, FinalRecord } from "../history.ts";
import type { Violation } from "../violation.ts";

export function* writesAreKept(
  facts: RecordFacts,
  final: FinalRecord | null,
  disturbances: readonly Disturbance[],
): Generator<Violation> {
  const writes = new Map(
    facts.exchanges.flatMap((exchange) =>
      exchange.call.kind === "write" ? [[exchange.call.text, exchange] as const] : [],
    ),
  );
  const accepted = [...writes.values()]
    .filter(({ outcome }) => outcome.kind === "written")
    .sort((a, b) => a.endMs - b.endMs);
  const complain = (detail: string, exchanges: string[]): Violation => ({
    rule: "write_lost",
    record: facts.record,
    detail,
    exchanges,
  });

  const look = (
    read: { startMs: number; endMs: number },
    text: string | null,
    source: string,
  ): Violation | null => {
    const found = text === null ? undefined : writes.get(text);
    if (found && !mayStand(found))
      return complain(`a refused write of ${found.owner} was found`, [found.id, source]);
    if (found && found.startMs > read.endMs)
      return complain("a write was read before it was made", [found.id, source]);
    // What was there before the race began counts as written before everything.
    const foundBy = found ? effectWindow(found, disturbances).high : -Infinity;
    const later = accepted.find(({ startMs, endMs }) => startMs > foundBy && endMs < read.startMs);
    if (!later) return null;
    const instead = found ? "an older write" : "no write of the race";
    return complain(`${instead} was found, though ${later.owner} wrote later`, [
      ...(found ? [found.id] : []),
      later.id,
      source,
    ]);
  };

  for (const { id, outcome, startMs, endMs } of facts.exchanges) {
    if (outcome.kind !== "text") continue;
    const violation = look({ startMs, endMs }, outcome.text, id);
    if (violation) yield violation;
  }
  const atTheEnd = { startMs: Infinity, endMs: Infinity };
  const violation = final && look(atTheEnd, final.text, "the database at the end");
  if (violation) yield violation;
}

const mayStand = ({ outcome }: Exchange): boolean => outcome.kind === "written" || outcome.kind === "cut";
