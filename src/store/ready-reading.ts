/**
 * Reads what the ready set is made of in few statements: round trips cost more than most of their parts. The first tells
 * what is around the items, and which come first; what to read besides hangs on a decision about it.
 */

import { type RawBuilder, sql } from "kysely";
import type { Defect } from "../domain/defects.ts";
import type { RepositorySettings } from "../domain/settings.ts";
import { limitStep, preparedRows, unseen } from "./call.ts";
import { type Db, poolOf } from "./database.ts";
import { jsonRows } from "./json-rows.ts";
import { type ItemRadius, type RadiusInFlight, type RadiusRow, radiiOfRows, reviewedRadii } from "./radii.ts";
import {
  countQuery,
  type Flight,
  flightsQuery,
  type HeldBack,
  headQuery,
  heldBackQuery,
  nearQuery,
  offeredQuery,
  parkedCount,
  parkedQuery,
  SPARE,
  type Standing,
  type Where,
  waitingQuery,
} from "./ready-items.ts";

type Settings = Pick<RepositorySettings, "poisonThreshold" | "quarantineSeconds" | "requireAnchors">;

/** What others do, and the heads of the lists without what others hold up. */
export interface Surroundings {
  readonly flights: readonly Flight[];
  /** Some of these may be in flight. */
  readonly held: readonly HeldBack[];
  readonly radii: readonly RadiusInFlight[];
  readonly parked: readonly number[];
  /** The first of them, the oldest first. */
  readonly defects: readonly Defect[];
  readonly defectTotal: number;
  /** More than `limit`, if there are more: some may overlap. */
  readonly offered: readonly number[];
  /** Nothing else is offered, but for what is in flight or held back. */
  readonly isAllOffered: boolean;
  /** Those of `offered` that touch anything. */
  readonly touching: readonly ItemRadius[];
  readonly waiting: readonly number[];
  readonly unadmitted: readonly number[];
}

interface SurroundingsRow {
  flights: Flight[];
  held: HeldBack[];
  reviewed: RadiusRow[];
  parked: { number: number }[];
  defects: (Omit<Defect, "since"> & { since: string })[];
  defectTotal: number;
  offered: RadiusRow[];
  waiting: { number: number }[];
  unadmitted: { number: number }[];
}

const FLYING = sql`array(select number from flights)`;
const ELSEWHERE = sql`array(select number from flights union select number from held)`;

/** Lists show up to `limit`, and count up to `most`; flights, and what is held back, are all told. */
export async function readSurroundings(
  db: Db,
  where: Where,
  settings: Settings,
  { limit, most }: { readonly limit: number; readonly most: number },
): Promise<Surroundings> {
  const { repositoryId } = where;
  const [row] = await preparedRows(
    db,
    sql<SurroundingsRow>`
    with flights as materialized (${flightsQuery(where, settings.quarantineSeconds)}),
      held as materialized (${heldBackQuery(where, settings.poisonThreshold)})
    select ${jsonRows(sql`select * from flights`)} as flights, ${jsonRows(sql`select * from held`)} as held,
      ${jsonRows(reviewedRadii(repositoryId))} as reviewed, ${jsonRows(parkedQuery(where, limit))} as parked,
      ${jsonRows(sql`select number, code, value, detail, since from defect where repository_id = ${repositoryId}
        order by since, number, code limit ${limitStep(limit)}`)} as defects,
      (select count(*) from (select 1 from defect where repository_id = ${repositoryId} limit ${most}) d)
        as "defectTotal",
      ${jsonRows(offeredQuery(where, ELSEWHERE, limit))} as offered,
      ${jsonRows(waitingQuery(where, ELSEWHERE, limit))} as waiting,
      ${jsonRows(headQuery(where, "unadmitted", FLYING, limit))} as unadmitted`.compile(db),
  );
  if (!row) throw new Error("a query of one row answered none");
  const atWork = row.flights.map((flight) => ({ ...flight, atWork: true }));
  const reviewed = row.reviewed.map((item) => ({ ...item, atWork: false }));
  return {
    flights: row.flights,
    held: row.held,
    radii: radiiOfRows([...atWork, ...reviewed], settings),
    parked: numbersOf(row.parked).slice(0, limit),
    defects: row.defects.slice(0, limit).map((defect) => ({ ...defect, since: new Date(defect.since) })),
    defectTotal: row.defectTotal,
    offered: numbersOf(row.offered),
    isAllOffered: row.offered.length < limit + SPARE,
    touching: radiiOfRows(row.offered, settings),
    waiting: numbersOf(row.waiting).slice(0, limit),
    unadmitted: numbersOf(row.unadmitted).slice(0, limit),
  };
}

const numbersOf = (rows: readonly { number: number }[]): number[] => rows.map(({ number }) => number);

/** Offered items whose radius may meet that of one in flight, which reach so far, as far as they may meet. */
export async function readNear(
  db: Db,
  where: Where,
  settings: Settings,
  reach: { readonly at: readonly string[]; readonly below: readonly string[] },
): Promise<ItemRadius[]> {
  const near = nearQuery(where, reach, settings.requireAnchors);
  // As JSON, for they may be many, and node reads rows and arrays slowly.
  const [row] = await preparedRows(
    db,
    sql<{ near: Omit<RadiusRow, "isResearch">[] }>`select ${jsonRows(near)} as near`.compile(db),
  );
  return radiiOfRows(
    (row?.near ?? []).map((item) => ({ ...item, isResearch: false })),
    settings,
  );
}

/** The most urgent of what is offered, without these. */
export async function readOffered(
  db: Db,
  where: Where,
  without: readonly number[],
  limit: number,
): Promise<number[]> {
  const head = headQuery(where, "offered", unseen(without, "int"), limit);
  return numbersOf(await preparedRows(db, head.compile(db))).slice(0, limit);
}

export type Counts = Readonly<Record<Standing | "parked", number>>;

/** So long it is believed that a list which had more than is counted still has. */
const KEPT_MS = 1_000;

interface Kept {
  readonly countedAt: number;
  readonly counts: Counts;
}

const kept = new WeakMap<object, Map<string, Kept>>();

/**
 * How many stand in each list, up to `most` and some more; `offered`: so many are, null if that is not known. Counting is
 * the larger part of what a large backlog costs, so a list that had more than that is not counted again for a second: its
 * count means "or more" anyway.
 */
export async function countStandings(
  db: Db,
  where: Where,
  most: number,
  offered: number | null,
): Promise<Counts> {
  const pool = poolOf(db);
  const ofPool = pool === null ? null : (kept.get(pool) ?? new Map<string, Kept>());
  if (pool !== null && ofPool !== null) kept.set(pool, ofPool);
  const key = JSON.stringify([where.repositoryId, where.region, most]);
  const now = performance.now();
  const before = ofPool?.get(key);
  const known = before !== undefined && now - before.countedAt < KEPT_MS ? before : null;
  const isFull = (which: Standing | "parked"): boolean => known !== null && known.counts[which] >= most;
  const counted = (which: Standing | "parked", query: RawBuilder<number>) =>
    isFull(which) ? sql`${most}::bigint` : query;
  const count = (which: Standing) => counted(which, countQuery(where, which, most));
  const [counts] = await preparedRows(
    db,
    sql<Counts>`
    select ${offered === null ? count("offered") : sql`${offered}::bigint`} as offered, ${count("foreign")} as foreign,
      ${count("waiting")} as waiting, ${count("unadmitted")} as unadmitted,
      ${counted("parked", parkedCount(where, most))} as parked`.compile(db),
  );
  if (!counts) throw new Error("PostgreSQL counted nothing");
  if (known === null && Object.values(counts).some((found) => found >= most))
    ofPool?.set(key, { countedAt: now, counts });
  return counts;
}
