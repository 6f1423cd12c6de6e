/**
 * Applies many deliveries in one transaction: those that change the mirror, or an item's priority, and nothing else, which
 * most do (`domain/plain-issue-event.ts`). They share their round trips and their commit. Whatever calls for more is left to
 * be applied alone; and if the transaction fails, all are, so that what is wrong with one fails that one.
 *
 * Nobody is waited for: what somebody else has locked is applied alone, too.
 */

import type { z } from "zod";
import { IssuesPayload } from "../contract/github-payloads.ts";
import type { BodyTrail } from "../domain/body-trail.ts";
import { cleanJson } from "../domain/clean-text.ts";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";
import { type PlainChange, plainChange } from "../domain/plain-issue-event.ts";
import { itemRef } from "../domain/record-key.ts";
import { withTag } from "../domain/tags.ts";
import { issueEvent, issueSnapshot, toldText } from "../github/snapshots.ts";
import { lockConfigurations } from "../store/configuration.ts";
import { inTransaction, type Trx } from "../store/database.ts";
import { isConnectionLost } from "../store/failure.ts";
import { type Delivery, finishDeliveries } from "../store/inbox.ts";
import { lockDeliveries, returnDeliveries, takeDeliveries } from "../store/inbox-runs.ts";
import { type IssueUpdate, lockFreeIssues, updateIssues } from "../store/mirror-many.ts";
import { setTagsOfItems, tryLockRecords } from "../store/records.ts";
import { findRepositoriesById, type Repository } from "../store/repositories.ts";
import { loginOf } from "./ask-actor.ts";
import { isTold } from "./body-trails.ts";
import type { Deps } from "./deps.ts";
import { knownItems, type TaggedItem } from "./issue-transitions.ts";

/** Takes deliveries and applies those that can be. False: none is due that could be. */
export async function applyTogether(deps: Deps): Promise<boolean> {
  const taken = await takeDeliveries(deps.db);
  if (taken.length === 0) return false;
  try {
    const lanes = Map.groupBy(taken.map(read), ({ delivery }) => `${delivery.repositoryId} ${delivery.lane}`);
    // What else waits for rows that it has, in another order, may break it off: then it is done again.
    await inTransaction(deps.db, (trx) => apply(trx, [...lanes.values()]));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    deps.log.info({ reason, deliveries: taken.length }, "deliveries failed together; each is tried alone");
    // A connection that broke says nothing of them.
    await returnDeliveries(deps.db, taken, { alone: !isConnectionLost(error) });
  }
  return true;
}

interface Read {
  readonly delivery: Delivery;
  /** Null: it is to be applied alone. */
  readonly payload: z.infer<typeof IssuesPayload> | null;
}

function read(delivery: Delivery): Read {
  if (delivery.event !== "issues") return { delivery, payload: null };
  const { data } = IssuesPayload.safeParse(cleanJson(JSON.parse(delivery.payload)));
  return { delivery, payload: data ?? null };
}

/** A lane and what is known of its issue, as the deliveries applied so far have left it. */
interface Lane {
  readonly repository: Repository;
  readonly number: number;
  readonly deliveries: readonly Read[];
  issue: IssueSnapshot;
  readonly isGone: boolean;
  readonly trail: BodyTrail | null;
  item: TaggedItem | null;
}

async function apply(trx: Trx, lanes: readonly (readonly Read[])[]): Promise<void> {
  const mine = await lockDeliveries(
    trx,
    lanes.flat().map(({ delivery }) => delivery),
  );
  const ours = lanes.map((lane) => upTo(lane, ({ delivery }) => !mine.has(delivery.seq)));
  const known = await findLanes(trx, ours);
  const done: number[] = [];
  // Each lane's first, then each lane's second: what is written in one statement is of different issues.
  let open = known;
  for (let round = 0; open.length > 0; round += 1) {
    const updates: IssueUpdate[] = [];
    const tagged: { repositoryId: number; number: number; tags: readonly string[] }[] = [];
    const goOn: Lane[] = [];
    for (const lane of open) {
      const next = lane.deliveries[round];
      const change = next && changeOf(lane, next);
      if (!next || !change) continue;
      done.push(next.delivery.seq);
      goOn.push(lane);
      const { id: repositoryId } = lane.repository;
      if (change.issue !== null) {
        updates.push({ repositoryId, before: lane.issue, issue: change.issue });
        lane.issue = change.issue;
      }
      if (change.priorities !== null && lane.item !== null) {
        const tags = withTag(lane.item.tags, "priority:", change.priorities);
        lane.item = { ...lane.item, tags, priorities: change.priorities };
        tagged.push({ repositoryId, number: lane.number, tags });
      }
    }
    await updateIssues(trx, updates);
    await setTagsOfItems(trx, tagged);
    open = goOn;
  }
  await finishDeliveries(trx, done);
  const isDone = new Set(done);
  const heads = ours.flatMap(
    (lane) => lane.find(({ delivery }) => !isDone.has(delivery.seq))?.delivery ?? [],
  );
  const isHead = new Set(heads);
  await returnDeliveries(trx, heads, { alone: true });
  // What follows one that is applied alone may be plain again.
  const isLeft = ({ delivery }: Read): boolean => !isDone.has(delivery.seq) && !isHead.has(delivery);
  const rest = lanes.flat().flatMap((one) => (isLeft(one) ? [one.delivery] : []));
  await returnDeliveries(trx, rest, { alone: false });
}

function upTo<T>(all: readonly T[], isEnd: (one: T) => boolean): readonly T[] {
  const end = all.findIndex(isEnd);
  return end < 0 ? all : all.slice(0, end);
}

/** The lanes whose issue and repository are known, with their locks, in the order in which every transaction takes them. */
async function findLanes(trx: Trx, lanes: readonly (readonly Read[])[]): Promise<Lane[]> {
  const begun = lanes.flatMap((deliveries) => {
    const payload = deliveries[0]?.payload;
    if (!payload?.repository) return [];
    return [{ repositoryId: payload.repository.id, number: payload.issue.number, deliveries }];
  });
  const ids = [...new Set(begun.map(({ repositoryId }) => repositoryId))];
  await lockConfigurations(trx, ids);
  const repositories = await findRepositoriesById(trx, ids);
  const reached = begun.flatMap(({ repositoryId, ...lane }) => {
    const repository = repositories.get(repositoryId);
    return repository?.currentName && !repository.local ? [{ ...lane, repository }] : [];
  });
  const locked = await tryLockRecords(
    trx,
    reached.map(({ repository, number }) => itemRef(repository.id, number)),
  );
  const free = reached.filter((_, place) => locked[place]);
  const issues = await lockFreeIssues(
    trx,
    free.map(({ repository, number }) => ({ repositoryId: repository.id, number })),
  );
  const items = await knownItems(trx, free);
  return free.flatMap((lane, place) => {
    const stored = issues[place];
    if (!stored) return [];
    return [
      {
        ...lane,
        issue: stored.issue,
        isGone: stored.gone !== null,
        trail: stored.trail,
        item: items[place] ?? null,
      },
    ];
  });
}

/** Null: the delivery is to be applied alone. */
function changeOf(lane: Lane, { payload }: Read): PlainChange | null {
  const { repository, issue, isGone, item, trail } = lane;
  if (payload === null) return null;
  const isMoving = Boolean(payload.changes?.old_repository || payload.changes?.new_repository);
  if (isMoving) return null;
  // Nothing that comes late brings it back; and pull requests are never items.
  if (isGone || payload.issue.pull_request) return { issue: null, priorities: null };
  const change = plainChange({
    event: issueEvent(payload),
    incoming: issueSnapshot(payload.issue),
    stored: issue,
    item,
    settings: repository.settings,
    login: loginOf(payload.sender),
  });
  // A text of an admitted item that no edit tells of is looked into.
  const brought = { issue: change?.issue ?? issue, told: toldText(payload) };
  return item?.admitted && !isTold({ issue, trail }, brought) ? null : change;
}
