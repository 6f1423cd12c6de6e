/**
 * Follows the event log for one caller: first what came after the place that it names, then what comes. It is pulled: who
 * does not ask for more makes nothing grow. Who was up to date once and falls out of the window is too slow, and is told.
 */

import { Problem } from "../contract/problem.ts";
import { type EventType, type LogEvent, tellsOnlyOf } from "../domain/events.ts";
import type { RepositoryName } from "../domain/record-key.ts";
import { hasEventsSince, readEvents } from "../store/event-log.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";
import type { EventFeed } from "./event-feed.ts";
import { repositoryByName } from "./repository-by-name.ts";

/** What a client is told of next. `position`: all up to there was told or is not for it; null: it is as it was. */
export type Heard =
  | { readonly events: readonly LogEvent[]; readonly position: number }
  | { readonly lost: Lost; readonly position: number | null };

/** Why a client must read the state anew, or connect again. */
export interface Lost {
  readonly reason: "unknown_id" | "expired_id" | "too_slow" | "restored";
  readonly detail: string;
}

export interface Followed {
  /** Undefined: of all that the caller may see. */
  readonly repo?: RepositoryName | undefined;
  readonly types?: readonly EventType[] | undefined;
  /** As the client sent it; undefined: only what comes from now on. */
  readonly lastEventId?: string | undefined;
}

interface Wanted {
  readonly repositoryIds: readonly number[] | null;
  readonly types: readonly EventType[] | null;
}

/** A place in the log, and what is wanted from there on. `close` must be called. */
export interface EventStream {
  /** Until `ended` is aborted or the process ends, or `lost` says that it is over. */
  follow(ended: AbortSignal): AsyncGenerator<Heard>;
  close(): void;
}

/** Throws what any call throws on a repository that is not there or not the caller's. */
export async function openEventStream(deps: Deps, caller: Caller, followed: Followed): Promise<EventStream> {
  const { events: feed } = deps;
  const wanted: Wanted = {
    repositoryIds: await repositoriesOf(deps, caller, followed.repo),
    types: followed.types ?? null,
  };
  const close = await feed.open();
  const follow = (ended: AbortSignal) =>
    counting(deps, followFrom(feed, caller, wanted, followed.lastEventId, ended));
  return { follow, close };
}

async function* counting({ metrics }: Deps, heard: AsyncGenerator<Heard>): AsyncGenerator<Heard> {
  for await (const news of heard) {
    if ("lost" in news) metrics.streamLost(news.lost.reason);
    yield news;
  }
}

async function repositoriesOf(
  deps: Deps,
  { repositories }: Caller,
  repo: RepositoryName | undefined,
): Promise<readonly number[] | null> {
  if (repo === undefined) return repositories === null ? null : [...repositories];
  const { id } = await repositoryByName(deps, repo);
  if (repositories?.has(id) === false) {
    throw new Problem(
      "scope_forbidden",
      `the token is not for ${repo.owner}/${repo.name}: use one that names it`,
    );
  }
  return [id];
}

/** As many as are read from the log for one who is behind, before it is asked whether it wants more. */
const PAGE = 500;

async function* followFrom(
  feed: EventFeed,
  { repositories, scope }: Caller,
  wanted: Wanted,
  lastEventId: string | undefined,
  ended: AbortSignal,
): AsyncGenerator<Heard> {
  const { epoch } = feed;
  let position = feed.head;
  const lost = await lostSince(feed, lastEventId);
  if (lost !== null) yield { lost, position };
  else if (lastEventId !== undefined) position = Number(lastEventId);
  yield { events: [], position };
  const visible = async (events: readonly LogEvent[]): Promise<readonly LogEvent[]> =>
    tellsOnlyOf(await feed.visible(events, scope), repositories);
  let isLive = false;
  while (!ended.aborted && !feed.stopping.aborted) {
    if (feed.epoch !== epoch) {
      yield { lost: RESTORED, position: null };
      return;
    }
    const next = feed.after(position);
    if (next === null) {
      isLive = true;
      await feed.changed(ended);
    } else if (next !== "behind") {
      isLive = true;
      const events = matching(await visible(next.events), wanted);
      position = next.last;
      yield { events, position };
    } else if (isLive) {
      yield { lost: TOO_SLOW, position: null };
      return;
    } else {
      const { head: through } = feed;
      const page = await feed.ask((db) =>
        readEvents(db, { after: position, through, limit: PAGE, ...wanted }),
      );
      const events = await visible(page);
      position = page.length < PAGE ? through : (page.at(-1)?.id ?? through);
      yield { events, position };
    }
  }
}

function matching(events: readonly LogEvent[], { repositoryIds, types }: Wanted): readonly LogEvent[] {
  if (repositoryIds === null && types === null) return events;
  return events.filter(
    ({ repositoryId, type }) =>
      (repositoryIds?.includes(repositoryId) ?? true) && (types?.includes(type) ?? true),
  );
}

async function lostSince(feed: EventFeed, lastEventId: string | undefined): Promise<Lost | null> {
  if (lastEventId === undefined) return null;
  const isNumber = /^[0-9]{1,16}$/.test(lastEventId) && Number.isSafeInteger(Number(lastEventId));
  if (!isNumber) return UNKNOWN;
  const answer = await feed.ask((db) => hasEventsSince(db, Number(lastEventId)));
  if (answer === "known") return null;
  return answer === "expired" ? EXPIRED : UNKNOWN;
}

const UNKNOWN: Lost = {
  reason: "unknown_id",
  detail:
    "the log does not know this Last-Event-ID: perhaps it was restored. Read the state anew; the stream goes on from now",
};
const EXPIRED: Lost = {
  reason: "expired_id",
  detail:
    "what came after this Last-Event-ID is not kept any more. Read the state anew; the stream goes on from now",
};
const TOO_SLOW: Lost = {
  reason: "too_slow",
  detail:
    "the stream ends, because it was not read fast enough. Connect again with the Last-Event-ID: what was missed is replayed",
};
const RESTORED: Lost = {
  reason: "restored",
  detail:
    "an older database took the place of the one that was followed. Connect again without Last-Event-ID, then read the state anew",
};
