/** What is ready, and why the rest is not (protocol 6). */

import type { ReadyAnswer, ReadyQuery } from "../contract/items.ts";
import { readySet } from "../domain/ready-set.ts";
import { itemOfTarget } from "../domain/record-key.ts";
import { openItems } from "../store/item-facts.ts";
import type { ItemView } from "../store/item-view.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { defectBody, itemBody, reasonBody } from "./item-body.ts";

/** Counts are exact up to here, which then means "or more" (api.md). */
const MOST = 10_000;
const total = (rows: readonly unknown[]): number => Math.min(rows.length, MOST);

export async function ready(deps: Deps, repository: Repository, query: ReadyQuery): Promise<ReadyAnswer> {
  const page = await openItems(deps.db, repository.id, repository.settings);
  const items =
    query.epic === undefined
      ? page.items
      : page.items.filter((item) => isPartOf(item, repository, query.epic));
  const asker = { now: page.now, region: query.region ?? null };
  const defects = items.flatMap((item) => item.defects);
  const set = readySet(
    items.map((item) => item.facts),
    defects,
    asker,
  );
  const views = new Map(items.map((item) => [item.facts.number, item]));
  const shown = set.ready.slice(0, query.limit).flatMap((facts) => views.get(facts.number) ?? []);
  return {
    verdict: set.verdict,
    pending: Math.min(set.pending, MOST),
    ready: await Promise.all(shown.map((item) => itemBody(deps.db, repository, item, asker))),
    overlapping: set.overlapping
      .slice(0, query.limit)
      .map((item) => ({ number: item.number, with: [...item.with] })),
    waiting: set.waiting
      .slice(0, query.limit)
      .map(({ number, reasons }) => ({ number, reasons: reasons.map(reasonBody) })),
    inFlight: set.inFlight
      .slice(0, query.limit)
      .map((flight) => ({ ...flight, leaseExpiresAt: flight.leaseExpiresAt.toISOString() })),
    awaitingAdmission: set.awaitingAdmission.slice(0, query.limit),
    parked: set.parked.slice(0, query.limit),
    defects: defects.slice(0, query.limit).map(defectBody),
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

export const isPartOf = (item: ItemView, repository: Repository, epic: number | undefined): boolean =>
  item.links.some(
    (link) =>
      link.relation === "partOf" && link.repositoryId === repository.id && itemOfTarget(link.target) === epic,
  );
