/**
 * What is ready, and why the rest is not (protocol 6). `domain/ready-set.ts` says what that means, of all items at
 * once; here the same is found through indexes, without reading more items than are shown. A property test shows that
 * both agree.
 */

import { MOST_COUNTED, type ReadyAnswer, type ReadyQuery } from "../contract/items.ts";
import { RadiusIndex, reachOf } from "../domain/blast-radius.ts";
import { hasCircle } from "../domain/circles.ts";
import { byUrgency, type Verdict, whyNotReady } from "../domain/ready-set.ts";
import { itemOfTarget } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import { listDefects } from "../store/item-checks.ts";
import { itemViews } from "../store/item-facts.ts";
import type { ItemView } from "../store/item-view.ts";
import { radiiInFlight, radiiOf } from "../store/radii.ts";
import {
  countStandings,
  type Flight,
  firstParked,
  flights,
  headOf,
  heldBack,
  leastThreshold,
  nearAnchors,
  type Placed,
  type Standing,
} from "../store/ready-items.ts";
import { openEdges, restOf } from "../store/ready-verdict.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { defectBody, itemBodies, reasonBody } from "./item-body.ts";
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
  const where = { repositoryId: repository.id, region: query.region ?? null };
  const { poisonThreshold, quarantineSeconds } = repository.settings;
  const least = await leastThreshold(db, repository.id, poisonThreshold);
  const [inFlight, back, overlapping, parked, defects] = await Promise.all([
    flights(db, where, quarantineSeconds),
    heldBack(db, where, least),
    meetings(deps, repository, where),
    firstParked(db, repository.id, limit),
    listDefects(db, repository.id, limit, MOST_COUNTED, view),
  ]);
  const flying = inFlight.map(({ number }) => number);
  const isFlying = new Set(flying);
  const held = back.filter(({ number }) => !isFlying.has(number));
  const isHeldBack = new Set(held.map(({ number }) => number));
  const meeting = overlapping.filter(({ number }) => !isFlying.has(number) && !isHeldBack.has(number));
  const taken = [...flying, ...isHeldBack, ...meeting.map(({ number }) => number)];
  const counts = await countStandings(db, where, MOST_COUNTED + taken.length);
  const count = countsOf(counts, inFlight, held, meeting.length);
  const wantsResource = held.some(
    ({ reason, standing }) => reason === "resource_unavailable" && standing === "offered",
  );

  const [readyHead, waitingHead, foreignHead, awaiting] = await Promise.all([
    headOf(db, where, "offered", taken, limit),
    headOf(db, where, "waiting", flying, limit),
    headOf(db, where, "foreign", taken, limit),
    headOf(db, where, "unadmitted", flying, limit),
  ]);
  const waitingNumbers = [...waitingHead, ...foreignHead, ...[...isHeldBack].slice(0, limit)];
  const page = await itemViews(db, repository.id, [...readyHead, ...waitingNumbers], repository.settings);
  const items = await withhold(db, view, repository.id, page.items);
  const views = new Map(items.map((item) => [item.facts.number, item]));
  const asker = { now: page.now, region: where.region };
  const reasonsOf = (item: SeenItem) => whyNotReady(item.facts, item.defects, asker);
  const viewsOf = (numbers: readonly number[]) => numbers.flatMap((number) => views.get(number) ?? []);
  // What changed in between is left out rather than told wrongly.
  const shown = viewsOf(readyHead).filter((item) => reasonsOf(item).length === 0);
  const waiting = viewsOf(waitingNumbers)
    .sort((a, b) => byUrgency(a.facts, b.facts))
    .map((item) => ({ number: item.facts.number, reasons: reasonsOf(item).map(reasonBody) }))
    .filter(({ reasons }) => reasons.length > 0);
  return {
    verdict: await verdictOf(deps, repository, { ...count, wantsResource }),
    pending: Math.min(count.pending, MOST_COUNTED),
    ready: await itemBodies(db, repository, shown, asker),
    overlapping: meeting.slice(0, limit),
    waiting: waiting.slice(0, limit),
    inFlight: inFlight.slice(0, limit).map(({ number, leaseExpiresAt, isHeld }) => ({
      number,
      leaseExpiresAt: leaseExpiresAt.toISOString(),
      isHeld,
    })),
    awaitingAdmission: awaiting,
    parked,
    defects: (await withholdDefects(db, view, repository.id, defects.defects)).map(defectBody),
    totals: {
      ready: Math.min(count.ready, MOST_COUNTED),
      overlapping: Math.min(meeting.length, MOST_COUNTED),
      waiting: Math.min(count.waiting, MOST_COUNTED),
      inFlight: Math.min(inFlight.length, MOST_COUNTED),
      awaitingAdmission: Math.min(count.awaiting, MOST_COUNTED),
      parked: Math.min(counts.parked, MOST_COUNTED),
      defects: defects.total,
    },
  };
}

interface Count {
  readonly ready: number;
  readonly overlapping: number;
  readonly waiting: number;
  readonly awaiting: number;
  readonly pending: number;
}

/** Who is in flight stands in no other list, and who is held back waits although nothing of its own speaks against it. */
function countsOf(
  counts: Readonly<Record<Standing, number>>,
  inFlight: readonly Flight[],
  held: readonly Placed[],
  overlapping: number,
): Count {
  const of = (items: readonly Placed[], which: Standing): number =>
    items.filter(({ standing }) => standing === which).length;
  const heldHere = of(held, "offered");
  return {
    ready: Math.max(0, counts.offered - of(inFlight, "offered") - heldHere - overlapping),
    overlapping,
    waiting: counts.waiting - of(inFlight, "waiting") + counts.foreign - of(inFlight, "foreign") + heldHere,
    awaiting: counts.unadmitted - of(inFlight, "unadmitted"),
    pending: counts.offered + counts.foreign + counts.waiting + counts.unadmitted,
  };
}

/** Offered items whose blast radius meets that of work in flight, the most urgent first. */
async function meetings(
  deps: Deps,
  repository: Repository,
  where: { repositoryId: number; region: string | null },
): Promise<{ number: number; with: number[] }[]> {
  const { settings } = repository;
  const inFlight = await radiiInFlight(deps.db, repository.id, settings);
  if (inFlight.length === 0) return [];
  const underWay = new RadiusIndex(inFlight);
  // Work that lies in a pull request is not held up by other work that does.
  const atWork = new RadiusIndex(inFlight.filter((item) => item.atWork));
  const reach = reachOf(inFlight.map(({ radius }) => radius));
  const near = await nearAnchors(deps.db, where, reach, settings.requireAnchors);
  const radii = new Map(
    (await radiiOf(deps.db, repository.id, near, settings)).map((item) => [item.number, item]),
  );
  return near.flatMap((number) => {
    const item = radii.get(number);
    const meets = item ? (item.hasPull ? atWork : underWay).meets(item) : [];
    return meets.length === 0 ? [] : [{ number, with: meets }];
  });
}

/**
 * When nothing can be claimed: everything moves that nothing stops for good, unless it waits in a circle. What is blocked
 * moves with what it waits for, which is live and comes to an end.
 */
async function verdictOf(
  deps: Deps,
  repository: Repository,
  count: Count & { readonly wantsResource: boolean },
): Promise<Verdict> {
  if (count.ready > 0) return "ready";
  if (count.overlapping > 0 || count.wantsResource) return "overlapping";
  if (count.pending === 0) return "idle";
  const { isStuck, hasMover } = await restOf(deps.db, repository.id, repository.settings);
  if (isStuck || !hasMover) return "alarm";
  return hasCircle(await openEdges(deps.db, repository.id, repository.settings)) ? "alarm" : "waiting";
}

export const isPartOf = (item: ItemView, repository: Repository, epic: number | undefined): boolean =>
  item.links.some(
    (link) =>
      link.relation === "partOf" && link.repositoryId === repository.id && itemOfTarget(link.target) === epic,
  );
