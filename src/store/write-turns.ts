/**
 * Whose turn it is to write to GitHub for an installation, for all processes together: one write at a time, at GitHub's
 * pace, and none while GitHub asks to wait. Every write passes here, whichever part of us makes it.
 */

import { sql } from "kysely";
import { nextWriteAt, type WritePace } from "../domain/write-pace.ts";
import type { Db, Trx } from "./database.ts";

/** Longer than a request may take, with a new token before it: then whoever had the turn is gone. */
const TURN_SECONDS = 90;
/** How soon to ask again while another writes: its end is not told. */
const BUSY_SECONDS = 0.05;
/** Without a time from GitHub: its advice is a minute at least, then longer and longer. */
const FIRST_GUESS_SECONDS = 60;
const LONGEST_GUESS_SECONDS = 3600;

/** Begins a write, if it may begin now. Answers 0, or after how many seconds to ask again. */
export async function takeTurn(
  db: Db,
  installationId: number,
  turn: string,
  pace: WritePace,
): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ now: Date; busy: boolean; wait: number | null }>`
      select t.now, coalesce(i.turn_until > t.now, false) as busy,
        extract(epoch from greatest(i.paused_until, i.next_write_at) - t.now)::float8 as wait
      from (select * from installation where id = ${installationId} for update) i, (select db_now() as now) t`.execute(
      trx,
    );
    const row = rows[0];
    // An installation that nobody announced yet has written nothing.
    if (!row) return 0;
    if (row.wait !== null && row.wait > 0) return row.wait;
    if (row.busy) return BUSY_SECONDS;
    const next = await note(trx, installationId, row.now, pace);
    await sql`
      update installation set turn = ${turn}, turn_until = ${row.now}::timestamptz + make_interval(secs => ${TURN_SECONDS}),
        next_write_at = ${next} where id = ${installationId}`.execute(trx);
    return 0;
  });
}

/** Notes a write that begins now. Answers when the next may. */
async function note(trx: Trx, installationId: number, now: Date, pace: WritePace): Promise<Date> {
  if (pace.windows.length === 0) return nextWriteAt(now, pace, () => null);
  const longest = Math.max(...pace.windows.map(({ seconds }) => seconds));
  await sql`
    delete from github_write where installation_id = ${installationId}
      and at < ${now}::timestamptz - make_interval(secs => ${longest})`.execute(trx);
  await sql`insert into github_write (installation_id, at) values (${installationId}, ${now})`.execute(trx);
  const latest = new Map<number, Date | null>();
  for (const { writes } of pace.windows) {
    const { rows } = await sql<{ at: Date }>`
      select at from github_write where installation_id = ${installationId}
      order by at desc offset ${writes - 1} limit 1`.execute(trx);
    latest.set(writes, rows[0]?.at ?? null);
  }
  return nextWriteAt(now, pace, (n) => latest.get(n) ?? null);
}

/** The write is over, well or not. */
export async function endTurn(
  db: Db,
  installationId: number,
  turn: string,
  { spacingSeconds }: WritePace,
): Promise<void> {
  await sql`
    update installation set turn = null, turn_until = null,
      next_write_at = greatest(next_write_at, db_now() + make_interval(secs => ${spacingSeconds}))
    where id = ${installationId} and turn = ${turn}`.execute(db);
}

/**
 * GitHub said to wait: for the installation nothing is asked or written until then, by any process. `seconds` null: it
 * named no time; then a minute, and twice as long each time that it says so again soon after.
 */
export async function pauseInstallation(
  db: Db,
  installationId: number,
  seconds: number | null,
): Promise<void> {
  if (seconds !== null) {
    await sql`
      update installation set paused_until = greatest(paused_until, db_now() + make_interval(secs => ${seconds}))
      where id = ${installationId}`.execute(db);
    return;
  }
  await sql`
    update installation i set guessed_pause_seconds = guess.seconds,
      paused_until = greatest(i.paused_until, t.now + make_interval(secs => guess.seconds))
    from installation before, lateral (select db_now() as now) t, lateral (
      select case
        -- Of several requests under way at once: they say one thing.
        when before.paused_until > t.now then coalesce(before.guessed_pause_seconds, ${FIRST_GUESS_SECONDS})
        when before.paused_until + make_interval(secs => before.guessed_pause_seconds) > t.now
          then least(before.guessed_pause_seconds * 2, ${LONGEST_GUESS_SECONDS})
        else ${FIRST_GUESS_SECONDS} end as seconds) guess
    where before.id = ${installationId} and i.id = before.id`.execute(db);
}

/** Why nothing is to be asked of GitHub for an installation now; null: nothing speaks against it. */
export type Standing = { readonly kind: "suspended" } | { readonly kind: "paused"; readonly seconds: number };

export async function findStanding(db: Db, installationId: number): Promise<Standing | null> {
  const { rows } = await sql<{ suspended: boolean; seconds: number | null }>`
    select suspended_at is not null as suspended,
      extract(epoch from paused_until - db_now())::float8 as seconds
    from installation where id = ${installationId}`.execute(db);
  const row = rows[0];
  if (row?.suspended) return { kind: "suspended" };
  if (row && row.seconds !== null && row.seconds > 0)
    return { kind: "paused", seconds: Math.ceil(row.seconds) };
  return null;
}
