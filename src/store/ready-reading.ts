/**
 * Reads what the ready set is made of in two statements: round trips cost more than most of their parts. The first tells
 * what is around the items; what to read besides hangs on a decision about it.
 */

import { sql } from "kysely";
import type { Defect } from "../domain/defects.ts";
import type { RepositorySettings } from "../domain/settings.ts";
import { limitStep, preparedRows } from "./call.ts";
import { type Db, poolOf } from "./database.ts";
import { jsonRows } from "./json-rows.ts";
import { type ItemRadius, inFlightRadii, type RadiusInFlight, type RadiusRow, radiiOfRows } from "./radii.ts";
import {
  countQuery,
  type Flight,
  flightsQuery,
  type HeldBack,
  headQuery,
  heldBackQuery,
  nearQuery,
  parkedCount,
  parkedQuery,
  type Standing,
  type Where,
  waitingQuery,
} from "./ready-items.ts";

type Settings = Pick<RepositorySettings, "poisonThreshold" | "quarantineSeconds" | "requireAnchors">;

/** What others do, and what needs no item to be read. */
export interface Surroundings {
  readonly flights: readonly Flight[];
  readonly held: readonly HeldBack[];
  readonly radii: readonly RadiusInFlight[];
  readonly parked: readonly number[];
  /** The first of them, the oldest first. */
  readonly defects: readonly Defect[];
  readonly defectTotal: number;
}

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
    sql<
      Omit<Surroundings, "radii" | "parked" | "defects"> & {
        radii: (RadiusRow & { atWork: boolean })[];
        parked: { number: number }[];
        defects: (Omit<Defect, "since"> & { since: string })[];
      }
    >`
    select ${jsonRows(flightsQuery(where, settings.quarantineSeconds))} as flights,
      ${jsonRows(heldBackQuery(where, settings.poisonThreshold))} as held,
      ${jsonRows(inFlightRadii(repositoryId, settings))} as radii,
      ${jsonRows(parkedQuery(where, limit))} as parked,
      ${jsonRows(sql`select number, code, value, detail, since from defect where repository_id = ${repositoryId}
        order by since, number, code limit ${limitStep(limit)}`)} as defects,
      (select count(*) from (select 1 from defect where repository_id = ${repositoryId} limit ${most}) d)
        as "defectTotal"`.compile(db),
  );
  if (!row) throw new Error("a query of one row answered none");
  return {
    ...row,
    radii: radiiOfRows(row.radii, settings),
    parked: row.parked.slice(0, limit).map(({ number }) => number),
    defects: row.defects.slice(0, limit).map((defect) => ({ ...defect, since: new Date(defect.since) })),
  };
}

export interface Heads {
  /** Offered items whose radius may meet that of one in flight. */
  readonly near: readonly ItemRadius[];
  /** More than `limit`, if there are more: some may turn out to overlap. */
  readonly offered: readonly number[];
  readonly waiting: readonly number[];
  readonly unadmitted: readonly number[];
}

/** So many of the offered items may overlap before their list is read again without them. */
const SPARE = 80;

export interface HeadsAsked {
  readonly limit: number;
  readonly flying: readonly number[];
  readonly heldBack: readonly number[];
  /** Where what is in flight reaches; null: nowhere. */
  readonly reach: { readonly at: readonly string[]; readonly below: readonly string[] } | null;
}

/** The heads of the lists, and what may overlap work in flight. */
export async function readHeads(db: Db, where: Where, settings: Settings, asked: HeadsAsked): Promise<Heads> {
  const { limit, flying, heldBack, reach } = asked;
  const near = reach === null ? null : nearQuery(where, reach, settings.requireAnchors);
  const [row] = await preparedRows(
    db,
    sql<{
      near: RadiusRow[];
      offered: { number: number }[];
      waiting: { number: number }[];
      unadmitted: { number: number }[];
    }>`
    select ${near === null ? sql`'[]'::json` : jsonRows(near)} as near,
      ${jsonRows(headQuery(where, "offered", [...flying, ...heldBack], reach === null ? limit : limit + SPARE))} as offered,
      ${jsonRows(waitingQuery(where, flying, heldBack, limit))} as waiting,
      ${jsonRows(headQuery(where, "unadmitted", flying, limit))} as unadmitted`.compile(db),
  );
  if (!row) throw new Error("a query of one row answered none");
  const numbers = (rows: readonly { number: number }[]): number[] => rows.map(({ number }) => number);
  const first = (rows: readonly { number: number }[]): number[] => numbers(rows).slice(0, limit);
  return {
    near: radiiOfRows(row.near, settings),
    offered: numbers(row.offered),
    waiting: first(row.waiting),
    unadmitted: first(row.unadmitted),
  };
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
 * How many stand in each list, up to `most` and some more. Counting is the larger part of what a large backlog costs, so a
 * list that had more than that is not counted again for a second: its count means "or more" anyway.
 */
export async function countStandings(db: Db, where: Where, most: number): Promise<Counts> {
  const pool = poolOf(db);
  const ofPool = pool === null ? null : (kept.get(pool) ?? new Map<string, Kept>());
  if (pool !== null && ofPool !== null) kept.set(pool, ofPool);
  const key = JSON.stringify([where.repositoryId, where.region, most]);
  const now = performance.now();
  const before = ofPool?.get(key);
  const known = before !== undefined && now - before.countedAt < KEPT_MS ? before : null;
  const isFull = (which: Standing | "parked"): boolean => known !== null && known.counts[which] >= most;
  const count = (which: Standing) => (isFull(which) ? sql`${most}::bigint` : countQuery(where, which, most));
  const [counts] = await preparedRows(
    db,
    sql<Counts>`
    select ${count("offered")} as offered, ${count("foreign")} as foreign, ${count("waiting")} as waiting,
      ${count("unadmitted")} as unadmitted,
      ${isFull("parked") ? sql`${most}::bigint` : parkedCount(where, most)} as parked`.compile(db),
  );
  if (!counts) throw new Error("PostgreSQL counted nothing");
  if (known === null && Object.values(counts).some((found) => found >= most))
    ofPool?.set(key, { countedAt: now, counts });
  return counts;
}
