/** The ready set of one epic: its parts are few, and all of them are read. */

import { MOST_COUNTED, type ReadyAnswer, type ReadyQuery } from "../contract/items.ts";
import { type Flying, type ReadySet, readySet } from "../domain/ready-set.ts";
import type { ItemPage } from "../store/item-facts.ts";
import { partsOf } from "../store/item-facts.ts";
import { radiiInFlight } from "../store/radii.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { defectBody, itemBodies, reasonBody } from "./item-body.ts";

const total = (rows: readonly unknown[]): number => Math.min(rows.length, MOST_COUNTED);

export async function readyBelow(
  deps: Deps,
  repository: Repository,
  epic: number,
  query: Pick<ReadyQuery, "limit" | "region">,
): Promise<ReadyAnswer> {
  const page = await partsOf(deps.db, repository.id, epic, repository.settings);
  const parts = new Set(page.items.map(({ facts }) => facts.number));
  const inFlight = await radiiInFlight(deps.db, repository.id, repository.settings);
  const elsewhere = inFlight.filter(({ number }) => !parts.has(number));
  return readyAnswer(deps, repository, page, query, elsewhere);
}

/** The ready set of exactly these items, as it is answered. */
export async function readyAnswer(
  deps: Deps,
  repository: Repository,
  page: ItemPage,
  { limit, region = null }: { limit: number; region?: string | null | undefined },
  elsewhere: readonly Flying[] = [],
): Promise<ReadyAnswer> {
  const asker = { now: page.now, region };
  const defects = page.items.flatMap((item) => item.defects);
  const facts = page.items.map((item) => item.facts);
  const set: ReadySet = readySet(facts, defects, asker, elsewhere);
  const views = new Map(page.items.map((item) => [item.facts.number, item]));
  const shown = set.ready.slice(0, limit).flatMap((item) => views.get(item.number) ?? []);
  return {
    verdict: set.verdict,
    pending: Math.min(set.pending, MOST_COUNTED),
    ready: await itemBodies(deps.db, repository, shown, asker),
    overlapping: set.overlapping
      .slice(0, limit)
      .map((item) => ({ number: item.number, with: [...item.with] })),
    waiting: set.waiting
      .slice(0, limit)
      .map(({ number, reasons }) => ({ number, reasons: reasons.map(reasonBody) })),
    inFlight: set.inFlight
      .slice(0, limit)
      .map((flight) => ({ ...flight, leaseExpiresAt: flight.leaseExpiresAt.toISOString() })),
    awaitingAdmission: set.awaitingAdmission.slice(0, limit),
    parked: set.parked.slice(0, limit),
    defects: defects.slice(0, limit).map(defectBody),
    totals: {
      ready: total(set.ready),
      overlapping: total(set.overlapping),
      waiting: total(set.waiting),
      inFlight: total(set.inFlight),
      awaitingAdmission: total(set.awaitingAdmission),
      parked: total(set.parked),
      defects: total(defects),
    },
  };
}
