/** What an item went through, newest first (protocol 9). */

import type { TransitionsAnswer, TransitionsQuery } from "../contract/finishing.ts";
import { Problem } from "../contract/problem.ts";
import { findItem } from "../store/items.ts";
import type { Repository } from "../store/repositories.ts";
import { listTransitions } from "../store/transitions.ts";
import type { Deps } from "./deps.ts";
import { noItem } from "./read-items.ts";

export async function itemTransitions(
  deps: Deps,
  repository: Repository,
  number: number,
  { cursor, limit }: TransitionsQuery,
): Promise<TransitionsAnswer> {
  if ((await findItem(deps.db, repository.id, number)) === null) throw noItem(repository, number);
  const rows = await listTransitions(deps.db, repository.id, number, placeOf(cursor), limit + 1);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    transitions: shown.map(({ at, trigger, actor, from, to, summary, fence }) => ({
      at: at.toISOString(),
      trigger,
      actor,
      from,
      to,
      summary,
      fencingToken: fence,
    })),
    nextCursor: rows.length > limit && last ? Buffer.from(last.place).toString("base64url") : null,
  };
}

/** Where the listing goes on; empty: at its beginning. */
function placeOf(cursor: string | undefined): string {
  if (cursor === undefined) return "";
  const place = Buffer.from(cursor, "base64url").toString();
  if (/^\d{20}[012]\d{19}$/.test(place)) return place;
  const message = "this is no cursor of this listing; leave it out to begin at the first page";
  throw new Problem("validation_failed", message, { errors: [{ field: "cursor", message }] });
}
