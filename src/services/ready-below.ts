/** The ready set of one epic, whose parts are few, and that of a scope: all its items are read. */

import { MOST_COUNTED, type ReadyAnswer, type ReadyQuery } from "../contract/items.ts";
import { type FlightElsewhere, type ReadySet, readySet } from "../domain/ready-set.ts";
import type { View } from "../domain/scope.ts";
import { type ItemPage, openItems, partsOf } from "../store/item-facts.ts";
import { radiiInFlight } from "../store/radii.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { defectBody, itemBodies, reasonBodies } from "./item-body.ts";
import { onlySeen } from "./sight.ts";
import { withhold } from "./withhold.ts";

const total = (rows: readonly unknown[]): number => Math.min(rows.length, MOST_COUNTED);

export async function readyBelow(
  deps: Deps,
  repository: Repository,
  epic: number,
  query: Pick<ReadyQuery, "limit" | "region">,
  view: View,
): Promise<ReadyAnswer> {
  const page = await partsOf(deps.db, repository.id, epic, repository.settings, view);
  const parts = new Set(page.items.map(({ facts }) => facts.number));
  return readyAnswer(deps, repository, page, query, view, parts);
}

/** The ready set of what a scope reaches: all of it is read, for no index knows what that is. */
export async function readyWithin(
  deps: Deps,
  repository: Repository,
  query: Pick<ReadyQuery, "limit" | "region">,
  view: View,
): Promise<ReadyAnswer> {
  const page = await openItems(deps.db, repository.id, repository.settings, view);
  return readyAnswer(deps, repository, page, query, view);
}

/**
 * Work in flight that is not among the items that are looked at (null: all that the reader may see). It is in the way,
 * and named only where the reader may see it.
 */
export async function flightElsewhere(
  deps: Deps,
  { id, settings }: Repository,
  view: View,
  among: ReadonlySet<number> | null = null,
): Promise<{ elsewhere: FlightElsewhere[]; isSeen: (number: number) => boolean }> {
  if (view.scope === null && among === null) return { elsewhere: [], isSeen: () => true };
  const inFlight = await radiiInFlight(deps.db, id, settings);
  const numbers = [...new Set(inFlight.map(({ number }) => number))];
  const seen = view.scope === null ? null : new Set(await onlySeen(deps.db, view, id, numbers));
  const isSeen = (number: number): boolean => seen === null || seen.has(number);
  const isAmong = (number: number): boolean => (among === null ? isSeen(number) : among.has(number));
  return { elsewhere: inFlight.filter(({ number }) => !isAmong(number)), isSeen };
}

/** The ready set of exactly these items, as it is answered. */
export async function readyAnswer(
  deps: Deps,
  repository: Repository,
  page: ItemPage,
  { limit, region = null }: { limit: number; region?: string | null | undefined },
  view: View,
  among: ReadonlySet<number> | null = null,
): Promise<ReadyAnswer> {
  const asker = { now: page.now, region };
  const items = await withhold(deps.db, view, repository.id, page.items);
  const defects = items.flatMap((item) => item.defects);
  const facts = items.map((item) => item.facts);
  const { elsewhere, isSeen } = await flightElsewhere(deps, repository, view, among);
  const set: ReadySet = readySet(facts, defects, asker, elsewhere);
  const views = new Map(items.map((item) => [item.facts.number, item]));
  const shown = set.ready.slice(0, limit).flatMap((item) => views.get(item.number) ?? []);
  return {
    verdict: set.verdict,
    pending: Math.min(set.pending, MOST_COUNTED),
    ready: await itemBodies(deps.db, repository, shown, asker),
    overlapping: set.overlapping
      .slice(0, limit)
      .map((item) => ({ number: item.number, with: item.with.filter(isSeen) })),
    waiting: set.waiting.slice(0, limit).flatMap(({ number, reasons }) => {
      const facts = views.get(number)?.facts;
      return facts ? { number, reasons: reasonBodies(repository, facts, reasons, page.now) } : [];
    }),
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
