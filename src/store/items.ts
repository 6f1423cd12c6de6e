/** Backlog items: what Leasehold itself knows of an issue (protocol 2, 3, 5). */

import { sql } from "kysely";
import type { ItemState } from "../domain/item-state.ts";
import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

export interface ItemRow {
  readonly number: number;
  readonly enrolled: boolean;
  readonly admitted: boolean;
  readonly admissionAt: Date;
  readonly state: ItemState;
  readonly stateEventAt: Date | null;
  readonly openSince: Date | null;
  /** The epic that this item integrates. */
  readonly integrates: number | null;
  readonly onHold: boolean;
  /** A human asked for it to be parked while it is worked on. */
  readonly parkAsked: boolean;
}

/** Whether the item was parked when it ended. */
export async function wasParked(db: Db, repositoryId: number, number: number): Promise<boolean> {
  const row = await db
    .selectFrom("item")
    .select("was_parked")
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .executeTakeFirst();
  return row?.was_parked ?? false;
}

const COLUMNS = [
  "number",
  "enrolled",
  "admitted",
  "admission_at",
  "state",
  "state_event_at",
  "open_since",
  "integrates",
  "hold_at",
  "park_by",
] as const;

export interface ItemColumns {
  number: number;
  enrolled: boolean;
  admitted: boolean;
  admission_at: Date;
  state: ItemState;
  state_event_at: Date | null;
  open_since: Date | null;
  integrates: number | null;
  hold_at: Date | null;
  park_by: string | null;
}

export const toItemRow = (row: ItemColumns): ItemRow => ({
  number: row.number,
  enrolled: row.enrolled,
  admitted: row.admitted,
  admissionAt: row.admission_at,
  state: row.state,
  stateEventAt: row.state_event_at,
  openSince: row.open_since,
  integrates: row.integrates,
  onHold: row.hold_at !== null,
  parkAsked: row.park_by !== null,
});

/** The item's own row, or null when the issue is no item. */
export async function findItem(db: Db, repositoryId: number, number: number): Promise<ItemRow | null> {
  const row = await db
    .selectFrom("item")
    .select(COLUMNS)
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .executeTakeFirst();
  return row ? toItemRow(row) : null;
}

export async function insertItem(
  trx: Trx,
  item: {
    repositoryId: number;
    number: number;
    admitted: boolean;
    admittedBy: string | null;
    admissionAt: Date;
    createdAt: Date;
  },
): Promise<void> {
  await trx
    .insertInto("item")
    .values({
      repository_id: item.repositoryId,
      number: item.number,
      admitted: item.admitted,
      admitted_by: item.admittedBy,
      admission_at: item.admissionAt,
      created_at: item.createdAt,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function setEnrolled(
  trx: Trx,
  repositoryId: number,
  number: number,
  enrolled: boolean,
): Promise<void> {
  await trx
    .updateTable("item")
    .set({ enrolled })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .execute();
}

/** `at` is GitHub's time of the event that decided. */
export async function setAdmission(
  trx: Trx,
  repositoryId: number,
  number: number,
  admission: { admitted: boolean; by: string | null; at: Date },
): Promise<void> {
  await trx
    .updateTable("item")
    .set({ admitted: admission.admitted, admitted_by: admission.by, admission_at: admission.at })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .execute();
}

export interface StateChange {
  readonly state: ItemState;
  readonly by: string;
  /** GitHub's time of the deciding event; null keeps the last one (Leasehold itself decided). */
  readonly eventAt: Date | null;
  readonly parkReason?: string | null;
  readonly rulingOwner?: string | null;
  readonly question?: string | null;
}

/** Sets the item's row only; `services/item-state.ts` keeps the record's tag, the claim and the edges in step. */
export async function setState(
  trx: Trx,
  repositoryId: number,
  number: number,
  change: StateChange,
): Promise<void> {
  await trx
    .updateTable("item")
    .set({
      // Kept from the old state, which the update sees on its right-hand side.
      was_parked:
        change.state === null || change.state === "parked"
          ? false
          : sql<boolean>`coalesce(state = 'parked', false) or was_parked`,
      state: change.state,
      state_at: dbNow,
      state_by: change.by,
      park_reason: change.parkReason ?? null,
      ruling_owner: change.rulingOwner ?? null,
      question: change.question ?? null,
      // Done, or overtaken.
      park_by: null,
      park_at: null,
      // What ended or was parked is not on hold besides.
      ...(change.state === null
        ? {}
        : { hold_at: null, hold_by: null, hold_note: null, started_under: null }),
      ...(change.eventAt === null ? {} : { state_event_at: change.eventAt }),
    })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .execute();
}

/** The issue was reopened then: a merge or a close of before ends the item no more. */
export async function noteStillOpen(trx: Trx, repositoryId: number, number: number, at: Date): Promise<void> {
  await trx
    .updateTable("item")
    .set({ open_since: sql`greatest(open_since, ${at}::timestamptz)` })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .execute();
}

/** Attempts start afresh: only fences granted after now count. */
export async function forgiveAttempts(trx: Trx, repositoryId: number, number: number): Promise<void> {
  await sql`
    update item set attempts_after = greatest(attempts_after, coalesce(
      (select max(f) from (
        select c.fence from claim c where c.repository_id = item.repository_id
          and c.topic = 'backlog' and c.id = 'issue-' || item.number
        union all
        select m.fence from claim_marker m where m.repository_id = item.repository_id
          and m.issue_number = item.number) as fences (f)), 0))
    where repository_id = ${repositoryId} and number = ${number}`.execute(trx);
}

/** Items that record the pull request: by their tag `pr:<n>`, or in their resume block (protocol 8). */
export async function itemsRecordingPull(db: Db, repositoryId: number, pull: number): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`
    select substr(id, 7)::int as number from record
    where repository_id = ${repositoryId} and topic = 'backlog' and tags @> array[${`pr:${pull}`}]
    union select number from resume_block where repository_id = ${repositoryId} and pull_number = ${pull}`.execute(
    db,
  );
  return rows.map((row) => row.number);
}

/** Items not yet at their end whose base is the branch. */
export async function itemsBasedOn(db: Db, repositoryId: number, branch: string): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`
    select i.number from item i
    join record r on r.repository_id = i.repository_id and r.topic = 'backlog' and r.id = 'issue-' || i.number
    where i.repository_id = ${repositoryId} and (i.state is null or i.state = 'parked')
      and r.tags @> array[${`baseBranch:${branch}`}]
    order by i.number`.execute(db);
  return rows.map((row) => row.number);
}

const MUST_SHOW = {
  enrolled: sql`(i.state is null or i.state = 'parked')`,
  gated: sql`i.state is null and not i.admitted`,
  parked: sql`i.state = 'parked'`,
};

/** Items that must show a label and do not: the gate where nobody admitted, the park's where it is parked. */
export async function itemsNotShowing(
  db: Db,
  repositoryId: number,
  which: keyof typeof MUST_SHOW,
  label: string,
): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`
    select i.number from item i join issue s on s.repository_id = i.repository_id and s.number = i.number
    where i.repository_id = ${repositoryId} and i.enrolled and s.state = 'open' and s.gone is null
      and ${MUST_SHOW[which]}
      and not exists (select 1 from unnest(s.labels) as has where lower(has) = lower(${label}))
    order by i.number`.execute(db);
  return rows.map((row) => row.number);
}

/** The item's work was seen moving, now: while its lease has lapsed, that keeps others away for a while (protocol 4). */
export async function markActive(trx: Trx, repositoryId: number, number: number): Promise<void> {
  await trx
    .updateTable("item")
    .set({ active_at: dbNow })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .execute();
}
