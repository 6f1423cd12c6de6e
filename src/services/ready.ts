/**
 * What is ready, and why the rest is not (protocol 6). `domain/ready-set.ts` says what that means, of all items at
 * once; here the same is found through indexes, without reading more items than are shown. A property test shows that
 * both agree.
 */

import { MOST_COUNTED, type ReadyAnswer, type ReadyQuery } from "../contract/items.ts";
import { RadiusIndex, reachOf } from "../domain/blast-radius.ts";
import { hasCircle } from "../domain/circles.ts";
import { type Verdict, whyNotReady } from "../domain/ready-set.ts";
import { itemOfTarget } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import type { Db } from "../store/database.ts";
import { type JudgedItem, viewsAndReasons } from "../store/item-facts.ts";
import type { ItemView, Limits } from "../store/item-view.ts";
import type { ItemRadius, RadiusInFlight } from "../store/radii.ts";
import type { Flight, Placed, Standing, Where } from "../store/ready-items.ts";
import {
  countStandings,
  readNear,
  readOffered,
  readSurroundings,
  type Surroundings,
} from "../store/ready-reading.ts";
import { openEdges, type Rest, restOf } from "../store/ready-verdict.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { defectBody, itemBodies, reasonBodies } from "./item-body.ts";
import { readyBelow, readyWithin } from "./ready-below.ts";
import { type SeenItem, withhold, withholdDefects } from "./withhold.ts";

export async function ready(
  deps: Deps,
  repository: Repository,
  query: ReadyQuery,
  view: View,
): Promise<ReadyAnswer> {
  if (query.epic !== undefined) return readyBelow(deps, repository, query.epic, query, view);
  if (view.scope !== null) return readyWithin(deps, repository, query, view);
  const { db } = deps;
  const { limit } = query;
  const { settings } = repository;
  const where = { repositoryId: repository.id, region: query.region ?? null };
  const around = await readSurroundings(db, where, settings, { limit, most: MOST_COUNTED });
  const isFlying = new Set(around.flights.map(({ number }) => number));
  const held = around.held.filter(({ number }) => !isFlying.has(number));
  const others = new Set([...isFlying, ...held.map(({ number }) => number)]);
  const elsewhere = (numbers: readonly { readonly number: number }[]) => [
    ...new Set([...others, ...numbers.map(({ number }) => number)]),
  ];
  // What overlaps may be much, and what is shown of the ready seldom waits for it.
  const meet = meetingsWith(around.radii);
  const isMeeting = new Set(meet(around.touching).map(({ number }) => number));
  const likely = around.offered.filter((number) => !isMeeting.has(number)).slice(0, limit);
  const meets = overlaps(db, where, settings, around, meet).then((items) =>
    items.filter(({ number }) => !others.has(number)),
  );
  const offered = around.isAllOffered
    ? around.offered.length + countOf(around.flights, "offered") + countOf(held, "offered")
    : null;
  const readyHead =
    likely.length === limit || around.isAllOffered
      ? likely
      : meets.then((items) => readOffered(db, where, elsewhere(items), limit));

  // The items are most of what this costs.
  const items = Promise.resolve(readyHead).then((views) =>
    viewsAndReasons(db, repository.id, { views, reasons: around.waiting }, settings),
  );
  const [read, meeting, counted, starving] = await Promise.all([
    items,
    meets,
    // Mostly so few overlap that it need not be known how many, to count enough.
    countStandings(db, where, enoughFor(others.size + COUNT_STEP), offered),
    around.offered.length === 0 ? restOf(db, repository.id, [...isFlying], settings) : null,
  ]);
  const { now } = read;
  const first = inOrder(await readyHead, await withhold(db, view, repository.id, read.views));
  const rest = inOrder(around.waiting, await withhold(db, view, repository.id, read.reasons));
  const enough = enoughFor(others.size + meeting.length);
  const counts = meeting.length <= COUNT_STEP ? counted : await countStandings(db, where, enough, offered);
  const { region } = where;
  const reasonsOf = ({ facts, defects }: SeenItem<JudgedItem>) =>
    whyNotReady(facts, defects, { now, region });
  // What changed in between is left out rather than told wrongly.
  const isOverlapping = new Set(meeting.map(({ number }) => number));
  const shown = first.filter((item) => !isOverlapping.has(item.facts.number) && reasonsOf(item).length === 0);
  const waiting = rest
    .map((item) => ({
      number: item.facts.number,
      reasons: reasonBodies(repository, item.facts, reasonsOf(item), now),
    }))
    .filter(({ reasons }) => reasons.length > 0);
  const count = countsOf(counts, around.flights, held, meeting.length);
  const wantsResource = held.some(
    ({ reason, standing }) => reason === "resource_unavailable" && standing === "offered",
  );
  return {
    verdict: await verdictOf(db, repository, { ...count, wantsResource, flying: [...isFlying], starving }),
    pending: Math.min(count.pending, MOST_COUNTED),
    ready: await itemBodies(db, repository, shown, { now, region }),
    overlapping: meeting.slice(0, limit),
    waiting,
    inFlight: around.flights.slice(0, limit).map(({ number, leaseExpiresAt, isHeld }) => ({
      number,
      leaseExpiresAt: new Date(leaseExpiresAt).toISOString(),
      isHeld,
    })),
    awaitingAdmission: [...around.unadmitted],
    parked: [...around.parked],
    defects: (await withholdDefects(db, view, repository.id, around.defects)).map(defectBody),
    totals: {
      ready: Math.min(count.ready, MOST_COUNTED),
      overlapping: Math.min(meeting.length, MOST_COUNTED),
      waiting: Math.min(count.waiting, MOST_COUNTED),
      inFlight: Math.min(around.flights.length, MOST_COUNTED),
      awaitingAdmission: Math.min(count.awaiting, MOST_COUNTED),
      parked: Math.min(counts.parked, MOST_COUNTED),
      defects: around.defectTotal,
    },
  };
}

/** Those of the numbers that were found, in their order. */
function inOrder<Item extends SeenItem<JudgedItem>>(
  numbers: readonly number[],
  items: readonly Item[],
): Item[] {
  const found = new Map(items.map((item) => [item.facts.number, item]));
  return numbers.flatMap((number) => found.get(number) ?? []);
}

/** Enough of a list to tell `MOST_COUNTED` when so many are taken off it: in steps, for a count is kept for a moment. */
const COUNT_STEP = 1_000;
const enoughFor = (taken: number): number => MOST_COUNTED + Math.ceil(taken / COUNT_STEP) * COUNT_STEP;

interface Count {
  readonly ready: number;
  readonly overlapping: number;
  readonly waiting: number;
  readonly awaiting: number;
  readonly pending: number;
}

const countOf = (items: readonly Placed[], which: Standing): number =>
  items.filter(({ standing }) => standing === which).length;

/** Who is in flight stands in no other list, and who is held back waits although nothing of its own speaks against it. */
function countsOf(
  counts: Readonly<Record<Standing, number>>,
  inFlight: readonly Flight[],
  held: readonly Placed[],
  overlapping: number,
): Count {
  const heldHere = countOf(held, "offered");
  return {
    ready: Math.max(0, counts.offered - countOf(inFlight, "offered") - heldHere - overlapping),
    overlapping,
    waiting:
      counts.waiting -
      countOf(inFlight, "waiting") +
      counts.foreign -
      countOf(inFlight, "foreign") +
      heldHere,
    awaiting: counts.unadmitted - countOf(inFlight, "unadmitted"),
    pending: counts.offered + counts.foreign + counts.waiting + counts.unadmitted,
  };
}

export type Meetings = (items: readonly ItemRadius[]) => { number: number; with: number[] }[];

/** Tells of items those whose blast radius meets that of work in flight, in their order. */
export function meetingsWith(inFlight: readonly RadiusInFlight[]): Meetings {
  if (inFlight.length === 0) return () => [];
  const underWay = new RadiusIndex(inFlight);
  // Work that lies in a pull request is not held up by other work that does.
  const isAllAtWork = inFlight.every((item) => item.atWork);
  const atWork = isAllAtWork ? underWay : new RadiusIndex(inFlight.filter((item) => item.atWork));
  return (items) =>
    items.flatMap((item) => {
      const meets = (item.hasPull ? atWork : underWay).meets(item);
      return meets.length === 0 ? [] : [{ number: item.number, with: meets }];
    });
}

interface Standstill {
  readonly wantsResource: boolean;
  readonly flying: readonly number[];
  /** Null: not read yet. */
  readonly starving: Rest | null;
}

/**
 * When nothing can be claimed: everything moves that nothing stops for good, unless it waits in a circle. What is blocked
 * moves with what it waits for, which is live and comes to an end.
 */
async function verdictOf(
  db: Db,
  { id, settings }: Repository,
  { ready, overlapping, pending, wantsResource, flying, starving }: Count & Standstill,
): Promise<Verdict> {
  if (ready > 0) return "ready";
  if (overlapping > 0 || wantsResource) return "overlapping";
  if (pending === 0) return "idle";
  const { isStuck, hasMover } = starving ?? (await restOf(db, id, flying, settings));
  if (isStuck || !hasMover) return "alarm";
  return hasCircle(await openEdges(db, id, flying)) ? "alarm" : "waiting";
}

/** What is offered and meets what is in flight. */
async function overlaps(
  db: Db,
  where: Where,
  settings: Limits,
  { radii, touching, isAllOffered }: Surroundings,
  meet: Meetings,
): Promise<{ number: number; with: number[] }[]> {
  if (radii.length === 0) return [];
  if (isAllOffered) return meet(touching);
  return meet(await readNear(db, where, settings, reachOf(radii.map(({ radius }) => radius))));
}

export const isPartOf = (item: ItemView, repository: Repository, epic: number | undefined): boolean =>
  item.links.some(
    (link) =>
      link.relation === "partOf" && link.repositoryId === repository.id && itemOfTarget(link.target) === epic,
  );
