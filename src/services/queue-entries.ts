/** What waits in the outbox and the inbox and what was given up there; and another try for the latter. */

import { Problem } from "../contract/problem.ts";
import type { InboxAnswer, InboxEntry, OutboxAnswer, OutboxEntry, QueueQuery } from "../contract/queues.ts";
import {
  findInboxEntry,
  findOutboxEntry,
  type InboxEntryRow,
  inboxEntries,
  type OutboxEntryRow,
  outboxEntries,
  type Page,
  retryDelivery,
  retryPromise,
} from "../store/queue-entries.ts";
import type { Caller } from "./caller.ts";
import { cursorOf, readCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { repositoryByName } from "./repository-by-name.ts";

/** The page that is asked for, and one row more, which tells whether there is another. */
async function pageOf(deps: Deps, caller: Caller, query: QueueQuery): Promise<Page> {
  const { state, repo, cursor, limit } = query;
  const most = Number.MAX_SAFE_INTEGER;
  const before = readCursor(cursor, most, most);
  const [owner = "", name = ""] = repo?.split("/") ?? [];
  const asked = repo === undefined ? null : (await repositoryByName(deps, { owner, name })).id;
  if (asked !== null && caller.repositories?.has(asked) === false) throw outOfReach(repo ?? "");
  const reached = caller.repositories === null ? null : [...caller.repositories];
  return { state, before, limit: limit + 1, repositoryIds: asked === null ? reached : [asked] };
}

function paged<Row extends { id: number }, Entry>(
  rows: readonly Row[],
  limit: number,
  toEntry: (row: Row) => Entry,
): { entries: Entry[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    entries: shown.map(toEntry),
    nextCursor: rows.length > limit && last ? cursorOf(last.id) : null,
  };
}

const toOutboxEntry = (row: OutboxEntryRow): OutboxEntry => ({
  ...row,
  createdAt: row.createdAt.toISOString(),
  nextTryAt: row.nextTryAt.toISOString(),
  finishedAt: row.finishedAt?.toISOString() ?? null,
});

const toInboxEntry = (row: InboxEntryRow): InboxEntry => ({
  ...row,
  receivedAt: row.receivedAt.toISOString(),
  nextTryAt: row.nextTryAt.toISOString(),
  finishedAt: row.finishedAt?.toISOString() ?? null,
});

export async function listOutbox(deps: Deps, caller: Caller, query: QueueQuery): Promise<OutboxAnswer> {
  return paged(await outboxEntries(deps.db, await pageOf(deps, caller, query)), query.limit, toOutboxEntry);
}

export async function listInbox(deps: Deps, caller: Caller, query: QueueQuery): Promise<InboxAnswer> {
  return paged(await inboxEntries(deps.db, await pageOf(deps, caller, query)), query.limit, toInboxEntry);
}

/** Throws `not_found`, and `conflict` where nothing was given up. */
export async function retryOutbox(
  deps: Deps,
  caller: Caller,
  { repositoryId, id }: { repositoryId: number; id: number },
): Promise<OutboxEntry> {
  const entry = await findOutboxEntry(deps.db, repositoryId, id);
  if (!entry) throw new Problem("not_found", `the outbox has no entry ${repositoryId}/${id}`);
  if (caller.repositories?.has(repositoryId) === false) throw outOfReach(entry.repo ?? `${repositoryId}`);
  if (!(await retryPromise(deps.db, repositoryId, id))) throw notGivenUp(entry.state);
  deps.log.info({ repositoryId, promise: entry.promise, by: caller.actor }, "a write is tried anew");
  deps.wake.outbox();
  return toOutboxEntry((await findOutboxEntry(deps.db, repositoryId, id)) ?? entry);
}

/** Throws `not_found`, and `conflict` where nothing was given up. */
export async function retryInbox(deps: Deps, caller: Caller, { id }: { id: number }): Promise<InboxEntry> {
  const entry = await findInboxEntry(deps.db, id);
  if (!entry) throw new Problem("not_found", `the inbox has no entry ${id}`);
  const { repositoryId, deliveryId } = entry;
  if (caller.repositories?.has(repositoryId) === false) throw outOfReach(entry.repo ?? `${repositoryId}`);
  if (!(await retryDelivery(deps.db, id))) throw notGivenUp(entry.state);
  deps.log.info({ repositoryId, delivery: deliveryId, by: caller.actor }, "a delivery is tried anew");
  deps.wake.inbox();
  return toInboxEntry((await findInboxEntry(deps.db, id)) ?? entry);
}

function notGivenUp(state: string): Problem {
  const why =
    state === "failed"
      ? "the same was promised anew since, and is waiting: nothing is left to try here"
      : `it is ${state}: only what was given up (state failed) can be tried anew`;
  return new Problem("conflict", why);
}

const outOfReach = (repo: string): Problem =>
  new Problem("scope_forbidden", `this token does not reach ${repo}`);
