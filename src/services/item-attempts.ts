/** An item's attempts: markers, grants, which count and why (protocol 4). */

import type { AttemptsAnswer, AttemptsQuery } from "../contract/attempts.ts";
import { judgeAttempt } from "../domain/attempt-history.ts";
import { isPoison } from "../domain/attempts.ts";
import { itemId, recordKey } from "../domain/record-key.ts";
import { type AttemptRow, countedAfter, listAttempts } from "../store/attempts.ts";
import { findItemView } from "../store/item-facts.ts";
import { cursorOf, readCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import type { ItemAt } from "./item-changes.ts";
import { noItem } from "./read-items.ts";

const HIGHEST = Number.MAX_SAFE_INTEGER;

export async function itemAttempts(
  deps: Deps,
  { repository, number }: ItemAt,
  { cursor, limit }: AttemptsQuery,
): Promise<AttemptsAnswer> {
  const below = readCursor(cursor, HIGHEST, HIGHEST);
  const [after, found] = await Promise.all([
    countedAfter(deps.db, repository.id, number),
    findItemView(deps.db, repository.id, number, repository.settings),
  ]);
  if (after === null || !found?.item.facts.enrolled) throw noItem(repository, number);
  const { count, reading } = found.item.attempts;
  const { threshold } = found.item.facts;
  const rows = await listAttempts(deps.db, repository.id, number, below, limit + 1);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    key: recordKey(repository, "backlog", itemId(number)),
    number,
    count,
    threshold,
    poison: isPoison(count, threshold),
    reading,
    countedAfter: after === 0 ? null : after,
    attempts: shown.map((attempt) => attemptBody(attempt, after)),
    nextCursor: rows.length > limit && last ? cursorOf(last.fence) : null,
  };
}

const iso = (time: string): string => new Date(time).toISOString();

function attemptBody({ fence, grant, marker }: AttemptRow, after: number) {
  const facts = {
    fence,
    grant: grant && { newAttempt: grant.newAttempt, undelivered: grant.ended === "undelivered" },
    marked: marker !== null,
  };
  return {
    fencingToken: fence,
    ...judgeAttempt(facts, after),
    grant: grant && { ...grant, grantedAt: iso(grant.grantedAt) },
    marker: marker && { ...marker, countedAt: iso(marker.countedAt) },
  };
}
