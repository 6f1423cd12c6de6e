/** The audit of the App's deliveries: what it vouches for, and what was missed (migrations/0018). */

import { sql } from "kysely";
import { dbNow, dbNowPlus } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

const LEASE_SECONDS = 300;

export interface TakenAudit {
  /** Our time, when it began. */
  readonly at: Date;
  /** The newest delivery that the last one saw, by GitHub's time. */
  readonly last: Date | null;
  /** It is time to ask whether GitHub tells of links. */
  readonly asksLinks: boolean;
}

/** Becomes the auditor. Null: another process is. */
export async function takeAudit(db: Db, auditor: string): Promise<TakenAudit | null> {
  const { rows } = await sql<TakenAudit>`
    update delivery_audit set auditor = ${auditor}, auditor_until = db_now() + make_interval(secs => ${LEASE_SECONDS})
    where auditor_until is null or auditor_until < db_now()
    returning db_now() as at, last_at as last,
      link_events_at is null or link_events_at < db_now() - interval '1 day' as "asksLinks"`.execute(db);
  return rows[0] ?? null;
}

export interface AuditResult {
  /** Until when what happened was delivered or is known to be missed; null: nothing more than before. */
  readonly coveredTo: Date | null;
  /** Since when, where it does not go on from what was vouched for before. */
  readonly coveredFrom: Date | null;
  readonly doubt: string | null;
  readonly newest: { readonly id: number; readonly at: Date } | null;
}

/** Keeps what the audit found, and ends it; unless it was another's meanwhile. */
export async function finishAudit(
  trx: Trx,
  auditor: string,
  { coveredTo, coveredFrom, doubt, newest }: AuditResult,
): Promise<void> {
  await trx
    .updateTable("delivery_audit")
    .set({
      ...(coveredTo === null ? {} : { covered_to: coveredTo }),
      ...(coveredFrom === null ? {} : { covered_from: coveredFrom }),
      ...(newest === null ? {} : { last_id: newest.id, last_at: newest.at }),
      doubt,
      auditor: null,
      auditor_until: null,
    })
    .where("auditor", "=", auditor)
    .execute();
}

export async function saveLinkEvents(db: Db, told: boolean): Promise<void> {
  await db.updateTable("delivery_audit").set({ link_events: told, link_events_at: dbNow }).execute();
}

/** Whether links between issues are to be read, because GitHub does not tell of them. */
export async function pollsLinks(db: Db): Promise<boolean> {
  const row = await db.selectFrom("delivery_audit").select("link_events").executeTakeFirstOrThrow();
  return !row.link_events;
}

export async function releaseAudit(db: Db, auditor: string, seconds: number): Promise<void> {
  await db
    .updateTable("delivery_audit")
    .set({ auditor: null, auditor_until: dbNowPlus(seconds) })
    .where("auditor", "=", auditor)
    .execute();
}

export interface NewMiss {
  readonly repositoryId: number;
  readonly guid: string;
  readonly deliveryId: number;
  readonly installationId: number | null;
  readonly event: string;
}

/** Notes deliveries that failed, but for those that the inbox has: they came, and only the answer was late. */
export async function noteMissed(db: Db, missed: readonly NewMiss[]): Promise<void> {
  if (missed.length === 0) return;
  await sql`
    insert into missed_delivery (repository_id, guid, delivery_id, installation_id, event)
    select m."repositoryId", m.guid, m."deliveryId", m."installationId", m.event
    from jsonb_to_recordset(${JSON.stringify(missed)}::jsonb)
      as m ("repositoryId" bigint, guid text, "deliveryId" bigint, "installationId" bigint, event text)
    where not exists (select 1 from inbox i
      where i.repository_id in (m."repositoryId", 0) and i.delivery_id = m.guid)
    on conflict (repository_id, guid) do nothing`.execute(db);
}

/** Forgets those that came meanwhile. */
export async function forgetArrived(db: Db): Promise<void> {
  await sql`
    delete from missed_delivery m
    where exists (select 1 from inbox i
      where i.repository_id in (m.repository_id, 0) and i.delivery_id = m.guid)`.execute(db);
}

export interface Miss extends NewMiss {
  readonly tries: number;
}

/** The longest missed first. */
export async function missedDeliveries(db: Db, limit: number): Promise<Miss[]> {
  const { rows } = await sql<Miss>`
    select repository_id as "repositoryId", guid, delivery_id as "deliveryId", installation_id as "installationId",
      event, tries
    from missed_delivery order by tries, noticed_at, guid limit ${limit}`.execute(db);
  return rows;
}

/** It was asked for again; or it never will be, after `tries`. */
export async function countTry(db: Db, { repositoryId, guid }: NewMiss, tries: number): Promise<void> {
  await db
    .updateTable("missed_delivery")
    .set({ tries })
    .where("repository_id", "=", repositoryId)
    .where("guid", "=", guid)
    .execute();
}

/** What they told was found out otherwise. */
export async function forgetMissed(db: Db, repositoryId: number, guids: readonly string[]): Promise<void> {
  if (guids.length === 0) return;
  await db
    .deleteFrom("missed_delivery")
    .where("repository_id", "=", repositoryId)
    .where("guid", "in", [...guids])
    .execute();
}

export interface AuditState {
  readonly doubt: string | null;
  /** How long ago deliveries were vouched for. */
  readonly ageSeconds: number | null;
  readonly missed: number;
}

export async function auditState(db: Db): Promise<AuditState> {
  const row = await db
    .selectFrom("delivery_audit")
    .select([
      "doubt",
      sql<number | null>`floor(extract(epoch from ${dbNow} - covered_to))::int`.as("ageSeconds"),
      sql<number>`(select count(*) from missed_delivery)`.as("missed"),
    ])
    .executeTakeFirstOrThrow();
  return row;
}
