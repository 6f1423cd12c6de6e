/**
 * Pull requests that are to be read from GitHub: what it says about merging comes with no event. A reading is leased,
 * not locked, because GitHub is asked outside any transaction; a process that dies lets the lease lapse.
 */

import { type RawBuilder, sql } from "kysely";
import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

/** Longer than the requests of one reading may take. */
const LEASE_SECONDS = 120;

/** Of the pull request `p`, its repository `r` and its installation `i`: the App may read it. */
const isReadable = sql`r.installed and r.current_name and i.suspended_at is null and i.removed_at is null`;

export interface DueReading {
  readonly repositoryId: number;
  readonly number: number;
  /** Until when it is this reader's. */
  readonly leasedUntil: Date;
  /** Its reviews are to be listed: it was never read, or events may have been missed. */
  readonly withReviews: boolean;
  readonly tries: number;
}

/** Takes the reading that has been due longest. Null: none is. */
export async function takeReading(db: Db): Promise<DueReading | null> {
  const { rows } = await sql<DueReading>`
    update pull_request set reads = reads + 1,
      -- Whole milliseconds: it is compared with what JavaScript holds of it.
      read_leased_until = date_trunc('milliseconds', db_now()) + make_interval(secs => ${LEASE_SECONDS})
    where (repository_id, number) = (
      select p.repository_id, p.number from pull_request p
      join repository r on r.id = p.repository_id join installation i on i.id = r.installation_id
      where p.read_due_at <= db_now() and (p.read_leased_until is null or p.read_leased_until < db_now())
        and ${isReadable}
      order by p.read_due_at limit 1 for update of p skip locked)
    returning repository_id as "repositoryId", number, read_leased_until as "leasedUntil",
      read_at is null or reviews_due as "withReviews",
      reads as tries`.execute(db);
  return rows[0] ?? null;
}

/** What GitHub said, of which head and base; unless somebody else has read it since. */
export async function saveReading(
  trx: Trx,
  reading: DueReading,
  said: { head: string; base: string; mergeable: boolean | null; state: string | null },
): Promise<void> {
  await trx
    .updateTable("pull_request")
    .set({
      // When it began: what moved since may not be in it.
      read_at: new Date(reading.leasedUntil.getTime() - LEASE_SECONDS * 1000),
      read_head: said.head,
      read_base: said.base,
      mergeable: said.mergeable,
      mergeable_state: said.state,
      ...(said.mergeable === null ? {} : { reads: 0 }),
      read_due_at: null,
      read_leased_until: null,
      ...(reading.withReviews ? { reviews_due: false } : {}),
    })
    .where("repository_id", "=", reading.repositoryId)
    .where("number", "=", reading.number)
    .where("read_leased_until", "=", reading.leasedUntil)
    .execute();
}

/** Reads it after so many seconds; null: not before something happens. */
export async function postponeReading(db: Db, reading: DueReading, seconds: number | null): Promise<void> {
  await db
    .updateTable("pull_request")
    .set({ read_due_at: seconds === null ? null : inSeconds(seconds), read_leased_until: null })
    .where("repository_id", "=", reading.repositoryId)
    .where("number", "=", reading.number)
    .where("read_leased_until", "=", reading.leasedUntil)
    .execute();
}

const inSeconds = (seconds: number): RawBuilder<Date> => sql`db_now() + make_interval(secs => ${seconds})`;

/** GitHub said to wait, or refuses the App: all readings of the installation do. */
export async function postponeReadings(db: Db, repositoryId: number, seconds: number): Promise<void> {
  await sql`
    update pull_request p set read_due_at = greatest(p.read_due_at, ${inSeconds(seconds)})
    from repository r, repository o
    where o.id = ${repositoryId} and r.installation_id = o.installation_id and p.repository_id = r.id
      and p.read_due_at is not null`.execute(db);
}

/**
 * When the pull request is to be read next; null: not before something happens. A reading under way goes on, and one that a
 * reading of everything asked for is not taken back, whatever is known of the item's other pull requests by then.
 */
export async function planReading(
  trx: Trx,
  repositoryId: number,
  pull: number,
  at: Date | null,
): Promise<void> {
  await trx
    .updateTable("pull_request")
    .set({
      read_due_at: sql<Date | null>`case when reviews_due then least(read_due_at, ${at}) else ${at} end`,
    })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", pull)
    .execute();
}

/** Nothing that was read of it is believed any more, its reviews included. */
export async function forgetReading(trx: Trx, repositoryId: number, pull: number): Promise<void> {
  await trx
    .updateTable("pull_request")
    .set({
      read_at: null,
      read_head: null,
      read_base: null,
      mergeable: null,
      mergeable_state: null,
      reads: 0,
    })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", pull)
    .execute();
}

const isOwnAndOpen = sql`p.state = 'open' and exists (
  select 1 from own_pull o where o.repository_id = p.repository_id and o.pull_number = p.number)`;

/** The App was away: what was read of the items' own pull requests is not believed any more. */
export async function forgetReadings(db: Db, repositoryId: number): Promise<void> {
  await sql`
    update pull_request p set read_at = null, read_due_at = null
    where p.repository_id = ${repositoryId} and ${isOwnAndOpen}`.execute(db);
}

/** Plans the reading of those that nobody told of since: they may be closed by now. */
export async function readForgotten(db: Db, repositoryId: number): Promise<void> {
  await sql`
    update pull_request p set read_due_at = db_now()
    where p.repository_id = ${repositoryId} and p.read_at is null and p.read_due_at is null and ${isOwnAndOpen}`.execute(
    db,
  );
}

/**
 * Plans the reading of every item's own open pull request: `withReviews` of all of them, now; or else of those of which none
 * is planned. What is known of it is not taken
 * back: of two that are an item's, the one that is read first must not stand alone until the other is read.
 */
export async function planOwnReadings(db: Db, repositoryId: number, withReviews: boolean): Promise<void> {
  await sql`
    update pull_request p set read_due_at = least(p.read_due_at, db_now()), reviews_due = p.reviews_due or ${withReviews}
    where p.repository_id = ${repositoryId} and ${isOwnAndOpen}
      and (p.read_due_at is null or ${withReviews} and (p.read_due_at > db_now() or not p.reviews_due))`.execute(
    db,
  );
}

/** Something happened to these pull requests that GitHub's word about merging may not know of. */
export async function markMoved(trx: Trx, repositoryId: number, pulls: readonly number[]): Promise<void> {
  if (pulls.length === 0) return;
  await trx
    .updateTable("pull_request")
    .set({ moved_at: dbNow })
    .where("repository_id", "=", repositoryId)
    .where("number", "in", [...pulls])
    .execute();
}

/** Items' own open pull requests into this branch, with their items. */
export async function ownPullsInto(
  db: Db,
  repositoryId: number,
  base: string,
): Promise<{ pull: number; item: number }[]> {
  return db
    .selectFrom("pull_request as p")
    .innerJoin("own_pull as o", (join) =>
      join.onRef("o.repository_id", "=", "p.repository_id").onRef("o.pull_number", "=", "p.number"),
    )
    .select(["p.number as pull", "o.number as item"])
    .where("p.repository_id", "=", repositoryId)
    .where("p.state", "=", "open")
    .where("p.base_ref", "=", base)
    .execute();
}

/** How many seconds until one is due; null: none is planned. */
export async function secondsUntilReading(db: Db): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from min(greatest(p.read_due_at, p.read_leased_until)) - db_now())::float8 as seconds from pull_request p
    join repository r on r.id = p.repository_id join installation i on i.id = r.installation_id
    where p.read_due_at is not null and ${isReadable}`.execute(db);
  return rows[0]?.seconds ?? null;
}
