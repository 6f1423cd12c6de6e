/** What an item hangs on and what hangs on it: children, breadcrumbs, dependencies, backlinks (api.md). */

import { z } from "zod";
import type { ItemBody } from "../contract/items.ts";
import type { LinksQuery } from "../contract/links.ts";
import { itemTarget, type LinkTarget } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import { findBlocker, findItemView } from "../store/item-facts.ts";
import { findItem } from "../store/items.ts";
import {
  epicsAbove,
  type IncomingKey,
  incomingKey,
  incomingLinks,
  type LinkRow,
  outgoingLinks,
} from "../store/link-view.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import { keyCursor, readKeyCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { itemBody } from "./item-body.ts";
import type { ItemAt } from "./item-changes.ts";
import { noItem } from "./read-items.ts";
import { withhold } from "./withhold.ts";

const IncomingCursor = z.tuple([z.int(), z.int(), z.string(), z.string(), z.string()]);
const OutgoingCursor = z.tuple([z.literal("out"), z.int(), z.string()]);
const ThenIncomingCursor = z.tuple([z.literal("in"), ...IncomingCursor.def.items]);

/** The item's direct parts, also those of other repositories. */
export async function childrenOf(deps: Deps, at: ItemAt, query: LinksQuery, view: View) {
  await assertItem(deps, at);
  const page = await incomingPage(deps, targetOf(at), "partOf", query, view);
  const children: ItemBody[] = [];
  for (const row of page.rows) {
    const repository = await findRepositoryById(deps.db, row.repositoryId);
    if (!repository || row.number === null) continue;
    const found = await findItemView(deps.db, repository.id, row.number, repository.settings);
    const [item] = found ? await withhold(deps.db, view, repository.id, [found.item]) : [];
    if (found && item)
      children.push(await itemBody(deps.db, repository, item, { now: found.now, region: null }));
  }
  return { children, nextCursor: page.nextCursor };
}

/** Those that may be seen: so the chain begins at the scope's root, and lacks what fails its tags. */
export async function breadcrumbsOf(deps: Deps, at: ItemAt, view: View) {
  await assertItem(deps, at);
  const above = await epicsAbove(deps.db, placeOf(at), view);
  return { breadcrumbs: above.reverse().map(endBody) };
}

export async function backlinksOf(deps: Deps, at: ItemAt, query: LinksQuery, view: View) {
  await assertItem(deps, at);
  return backlinksTo(deps, targetOf(at), query, view);
}

/** Who links to a record. It need not be there: what points at nothing is worth knowing. */
export const backlinksOfRecord = (
  deps: Deps,
  { repository, topic, id }: { repository: Repository; topic: string; id: string },
  query: LinksQuery,
  view: View,
) => backlinksTo(deps, { repositoryId: repository.id, target: `mem/${topic}/${id}` }, query, view);

async function backlinksTo(deps: Deps, to: LinkTarget, query: LinksQuery, view: View) {
  const page = await incomingPage(deps, to, "any", query, view);
  const backlinks = page.rows.map((row) => ({
    relation: row.relation,
    ...endBody(row),
    own: row.own,
    native: row.native,
  }));
  return { backlinks, nextCursor: page.nextCursor };
}

/** First what the item is blocked by, then what it blocks. */
export async function dependenciesOf(deps: Deps, at: ItemAt, { cursor, limit }: LinksQuery, view: View) {
  await assertItem(deps, at);
  const place = placeOf(at);
  const key = readKeyCursor(cursor, z.union([OutgoingCursor, ThenIncomingCursor]));
  const isPast = key?.[0] === "in";
  const out = isPast
    ? []
    : await outgoingLinks(
        deps.db,
        place,
        "blockedBy",
        key ? [key[1], String(key[2])] : null,
        limit + 1,
        view,
      );
  const blockers = await Promise.all(out.slice(0, limit).map((row) => blockedByBody(deps, at, row)));
  const lastOut = out[limit - 1];
  if (out.length > limit && lastOut) {
    return { dependencies: blockers, nextCursor: keyCursor(["out", lastOut.repositoryId, lastOut.target]) };
  }
  const after = isPast ? (key.slice(1) as unknown as IncomingKey) : null;
  const room = limit - blockers.length;
  const incoming = await incomingLinks(deps.db, targetOf(at), "blockedBy", after, room + 1, view);
  const shown = incoming.slice(0, room);
  const dependents = await Promise.all(shown.map((row) => blocksBody(deps, at, row)));
  // Where the page was full of blockers, the next begins with the first dependent.
  const last = shown.at(-1);
  const next = last
    ? ["in", ...incomingKey(last)]
    : lastOut
      ? ["out", lastOut.repositoryId, lastOut.target]
      : null;
  return {
    dependencies: [...blockers, ...dependents],
    nextCursor: incoming.length > room && next ? keyCursor(next) : null,
  };
}

async function blockedByBody(deps: Deps, { repository, number }: ItemAt, row: LinkRow) {
  return dependencyBody("blockedBy", row, await findBlocker(deps.db, repository.id, row, number));
}

/** What it means for the dependent: the item itself is the blocker. */
async function blocksBody(deps: Deps, { repository, number }: ItemAt, row: LinkRow) {
  const self = targetOf({ repository, number });
  return dependencyBody("blocks", row, await findBlocker(deps.db, row.repositoryId, self));
}

function dependencyBody(
  direction: "blockedBy" | "blocks",
  row: LinkRow,
  { status, rulingOwner, question }: Awaited<ReturnType<typeof findBlocker>>,
) {
  const edge = { status, satisfied: status === "satisfied", rulingOwner, question };
  return { direction, ...endBody(row), ...edge, own: row.own, native: row.native };
}

const endBody = ({ fullName, target, number, title, url, state }: LinkRow) => ({
  key: fullName === null ? target : `repo/${fullName}/${target}`,
  number,
  title,
  url,
  state,
});

async function incomingPage(
  deps: Deps,
  to: LinkTarget,
  which: "any" | "partOf",
  { cursor, limit }: LinksQuery,
  view: View,
): Promise<{ rows: LinkRow[]; nextCursor: string | null }> {
  const after = readKeyCursor(cursor, IncomingCursor);
  const found = await incomingLinks(deps.db, to, which, after, limit + 1, view);
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: found.length > limit && last ? keyCursor(incomingKey(last)) : null };
}

const targetOf = ({ repository, number }: ItemAt): LinkTarget => ({
  repositoryId: repository.id,
  target: itemTarget(number),
});

const placeOf = ({ repository, number }: ItemAt) => ({ repositoryId: repository.id, number });

async function assertItem(deps: Deps, { repository, number }: ItemAt): Promise<void> {
  if (!(await findItem(deps.db, repository.id, number))?.enrolled) throw noItem(repository, number);
}
