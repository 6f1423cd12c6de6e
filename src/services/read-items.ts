/** Reads single items and lists of them. */

import type { ItemBody, ItemsQuery } from "../contract/items.ts";
import { Problem } from "../contract/problem.ts";
import { MAX_INT32 } from "../contract/text.ts";
import { roleOf } from "../domain/item-state.ts";
import { overlapText } from "../domain/reason-text.ts";
import type { View } from "../domain/scope.ts";
import { type ItemFacts, roleFacts } from "../domain/why-not.ts";
import { findItemView, listItemViews } from "../store/item-facts.ts";
import { radiiInFlight } from "../store/radii.ts";
import type { Repository } from "../store/repositories.ts";
import type { Caller } from "./caller.ts";
import { cursorOf, readCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { itemBody } from "./item-body.ts";
import { isPartOf, meetingsWith } from "./ready.ts";
import { onlySeen } from "./sight.ts";
import { withhold } from "./withhold.ts";

/** `view`: what its reader may see, to which the item belongs. */
export async function getItem(
  deps: Deps,
  repository: Repository,
  number: number,
  view: View,
): Promise<ItemBody> {
  const found = await findItemView(deps.db, repository.id, number, repository.settings);
  if (!found?.item.facts.enrolled) throw noItem(repository, number);
  const [item] = await withhold(deps.db, view, repository.id, [found.item]);
  if (!item) throw noItem(repository, number);
  const body = await itemBody(deps.db, repository, item, { now: found.now, region: null }, view);
  if (body.state !== null || body.reasons.length > 0) return body;
  const others = await overlapsOf(deps, repository, item.facts, view);
  if (others === null) return body;
  return { ...body, reasons: [{ reason: "overlapping", on: others, detail: overlapText(others) }] };
}

/** Work in flight whose files the item would touch, as far as its reader may see it; null: there is none. */
async function overlapsOf(
  deps: Deps,
  { id, settings }: Repository,
  { number, radius, review }: ItemFacts,
  view: View,
): Promise<number[] | null> {
  if (radius.length === 0) return null;
  const inFlight = await radiiInFlight(deps.db, id, settings);
  const [met] = meetingsWith(inFlight)([{ number, radius, hasPull: review !== null }]);
  return met ? await onlySeen(deps.db, view, id, met.with) : null;
}

export const noItem = (repository: Repository, number: number): Problem =>
  new Problem(
    "not_found",
    `#${number} is no item of ${repository.owner}/${repository.name}: put the label ` +
      `${repository.settings.labels.backlog} on the issue to enrol it`,
  );

/** Where few of many may match, few large reads beat many small ones. */
const SIFTED_PAGE = 500;

/** Items by number. Role and epic are derived, so pages are read until one is full. `roots`: only what is part of none. */
export async function listItems(
  deps: Deps,
  caller: Caller,
  repository: Repository,
  query: ItemsQuery,
  { roots }: { roots: boolean } = { roots: false },
): Promise<{ items: ItemBody[]; nextCursor: string | null }> {
  const items: ItemBody[] = [];
  const isSifted = query.role !== undefined || query.epic !== undefined;
  const pageSize = isSifted ? Math.max(query.limit + 1, SIFTED_PAGE) : query.limit + 1;
  let after = readCursor(query.cursor, 0, MAX_INT32);
  for (;;) {
    const page = await listItemViews(deps.db, repository.id, repository.settings, {
      after,
      limit: pageSize,
      state: query.state,
      tag: query.tag,
      text: query.q,
      view: caller,
      rootsAmong: roots ? caller : undefined,
    });
    for (const item of await withhold(deps.db, caller, repository.id, page.items)) {
      const { facts } = item;
      const role = roleOf(roleFacts(facts, page.now));
      const wanted =
        (query.role === undefined || query.role === role) &&
        (query.epic === undefined || isPartOf(item, repository, query.epic));
      if (wanted && items.length === query.limit) return { items, nextCursor: cursorOf(after) };
      if (wanted)
        items.push(await itemBody(deps.db, repository, item, { now: page.now, region: null }, caller));
      after = facts.number;
    }
    if (page.items.length < pageSize) return { items, nextCursor: null };
  }
}
