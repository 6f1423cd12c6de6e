/**
 * Leases on resources (protocol 9). They are taken in the call that grants a claim (`take_claim`) or in the one below,
 * and end with triggers on what ends the work (`migrations/0016`); nobody sweeps those that ran out.
 */

import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { ResourceEnd } from "../domain/resources.ts";
import type { Scope } from "../domain/scope.ts";
import type { Db, Trx } from "./database.ts";
import { reaches } from "./reach.ts";
import type { TakenResource } from "./take-claim.ts";

export type TakenBelow =
  | { readonly resources: readonly TakenResource[] }
  | { readonly contended: readonly string[]; readonly retryAfterMs: number };

/**
 * Takes what an item needs that is worked on under the claim of an epic above it, all of it or nothing; or says what is
 * in the way. Null: that claim has ended. Callers hold the item's lock.
 */
export async function takeResourcesBelow(
  trx: Trx,
  repositoryId: number,
  number: number,
  fence: number,
  actor: string,
): Promise<TakenBelow | null> {
  const { rows } = await sql<{ answer: TakenBelow | null }>`
    select take_resources_below(${repositoryId}, ${number}, ${fence}, ${actor}) as answer`.execute(trx);
  return rows[0]?.answer ?? null;
}

/** What a caller may see (protocol 10). */
export interface Sight {
  readonly repositories: ReadonlySet<number> | null;
  readonly scope: Scope | null;
}

export interface Interval {
  readonly id: number;
  readonly key: string;
  readonly owner: string;
  readonly name: string;
  readonly number: number;
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
  /** Null: it is held. */
  readonly ended: ResourceEnd | null;
  readonly endedAt: Date | null;
  readonly endedBy: string | null;
}

const isOver = sql<SqlBool>`(l.ended is not null or l.expires_at <= db_now())`;

const interval = sql`l.id, l.key, r.owner, r.name, l.number, l.acquired_at as "acquiredAt", l.expires_at as "expiresAt",
  coalesce(l.ended, case when l.expires_at <= db_now() then 'expired' end) as ended,
  coalesce(l.ended_at, case when l.expires_at <= db_now() then l.expires_at end) as "endedAt", l.ended_by as "endedBy"`;

function seen({ repositories, scope }: Sight): RawBuilder<SqlBool> {
  const here =
    repositories === null ? sql`true` : sql`l.repository_id = any (${[...repositories]}::bigint[])`;
  return sql<SqlBool>`${here} and ${reaches(scope, sql`l.repository_id`, sql`l.number`)}`;
}

/** Leases that are held now, by key. */
export async function openLeases(db: Db, sight: Sight, limit: number): Promise<Interval[]> {
  const { rows } = await sql<Interval>`
    select ${interval} from resource_lease l join repository r on r.id = l.repository_id
    where l.ended is null and not ${isOver} and ${seen(sight)}
    order by l.key collate "C", l.account limit ${limit}`.execute(db);
  return rows;
}

/** Intervals, the latest first: of a key, at a moment, or all there ever were. */
export async function pastLeases(
  db: Db,
  sight: Sight,
  { key, at, limit }: { key: string | null; at: Date | null; limit: number },
): Promise<Interval[]> {
  const { rows } = await sql<Interval>`
    select ${interval} from resource_lease l join repository r on r.id = l.repository_id
    where ${seen(sight)} and (${key}::text is null or l.key = ${key})
      and (${at}::timestamptz is null or (l.acquired_at <= ${at}
        and ${at} < least(coalesce(l.ended_at, l.expires_at), l.expires_at)))
    order by l.acquired_at desc, l.id desc limit ${limit}`.execute(db);
  return rows;
}

/** Who holds a key now, in every account or in one. */
export async function holdersOf(db: Db, key: string, account: string | null): Promise<Interval[]> {
  const { rows } = await sql<Interval>`
    select ${interval} from resource_lease l join repository r on r.id = l.repository_id
    where l.key = ${key} and l.ended is null and not ${isOver}
      and (${account}::text is null or lower(r.owner) = lower(${account}))
    order by r.owner`.execute(db);
  return rows;
}

/** Takes a lease away from whoever holds it. Null: it has ended by itself. */
export async function forceRelease(db: Db, lease: number, actor: string): Promise<Interval | null> {
  const { rows } = await sql<Interval>`
    with forced as (
      update resource_lease l set ended = 'forced', ended_at = db_now(), ended_by = ${actor}
      where l.id = ${lease} and l.ended is null and not ${isOver} returning *)
    select ${interval} from forced l join repository r on r.id = l.repository_id`.execute(db);
  return rows[0] ?? null;
}
