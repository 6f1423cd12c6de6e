/**
 * Says what of a race's history no correct program could have done. Pure: a history in, complaints out.
 *
 * A request has its effect at some instant between its start and its answer; one that was cut, also a while later,
 * or never. The checker complains only when no choice of instants explains what was seen, so that it raises no false
 * alarm however the machine was loaded.
 */

import { factsOf } from "./facts.ts";
import type { History } from "./history.ts";
import { oneHolder } from "./rules/exclusion.ts";
import { fenceHolds } from "./rules/fence.ts";
import { grantsAreKept, grantsWereAskedFor, marksAreRight } from "./rules/grants-kept.ts";
import { refusalsHaveCauses, renewalsEnd } from "./rules/holders.ts";
import { leasesAsGranted } from "./rules/leases.ts";
import { lineIsFair } from "./rules/line.ts";
import { tokensAreUnique, tokensIncrease } from "./rules/tokens.ts";
import { writesAreKept } from "./rules/writes-kept.ts";
import type { Violation } from "./violation.ts";

export function check(history: History): Violation[] {
  const records = factsOf(history);
  const finals = new Map((history.final ?? []).map((final) => [final.record, final]));
  return [
    ...leasesAsGranted(history),
    ...tokensAreUnique(records),
    ...grantsWereAskedFor(records, history),
    ...records.flatMap((facts) => {
      const final = finals.get(facts.record) ?? null;
      return [
        ...oneHolder(facts),
        ...tokensIncrease(facts),
        ...fenceHolds(facts),
        ...renewalsEnd(facts),
        ...refusalsHaveCauses(facts),
        ...lineIsFair(facts, history.disturbances),
        ...grantsAreKept(facts, final),
        ...marksAreRight(facts, final),
        ...writesAreKept(facts, final, history.disturbances),
      ];
    }),
  ];
}
