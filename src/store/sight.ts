/** Which of some items and records a caller may see (protocol 10). */

import { sql } from "kysely";
import type { LinkTarget, RecordRef } from "../domain/record-key.ts";
import type { ItemAt, View } from "../domain/scope.ts";
import type { Db } from "./database.ts";
import { sees, seesRecord } from "./reach.ts";

/** Whether the item is there, and may be seen. */
export async function isItemSeen(db: Db, view: View, { repositoryId, number }: ItemAt): Promise<boolean> {
  const { rows } = await sql`
    select 1 from item i where i.repository_id = ${repositoryId} and i.number = ${number}
      and ${sees(view, sql.ref("i.repository_id"), sql.ref("i.number"))}`.execute(db);
  return rows.length > 0;
}

/** Whether the record may be seen; null: it is not there. */
export async function isRecordSeen(db: Db, view: View, ref: RecordRef): Promise<boolean | null> {
  const { rows } = await sql<{ seen: boolean }>`
    select ${seesRecord(view, sql.ref("r.repository_id"), sql.ref("r.topic"), sql.ref("r.id"))} as seen
    from record r where r.repository_id = ${ref.repositoryId} and r.topic = ${ref.topic} and r.id = ${ref.id}
      and (r.expires_at is null or r.expires_at > db_now())`.execute(db);
  return rows[0]?.seen ?? null;
}

/** Of the targets of links, those that a caller may see: items, records, and files of its repositories. */
export async function seenTargets(db: Db, view: View, targets: readonly LinkTarget[]): Promise<LinkTarget[]> {
  const asked = JSON.stringify(targets.map(({ repositoryId, target }) => [repositoryId, target]));
  const { rows } = await sql<LinkTarget>`
    select t.repository_id as "repositoryId", t.target from (
      select distinct (a->>0)::bigint as repository_id, a->>1 as target,
        split_part(a->>1, '/', 1) as kind, split_part(a->>1, '/', 2) as topic, split_part(a->>1, '/', 3) as id
      from jsonb_array_elements(${asked}::jsonb) a) t
    where case when t.kind = 'mem'
      then ${seesRecord(view, sql.ref("t.repository_id"), sql.ref("t.topic"), sql.ref("t.id"))}
      else ${seesRecord({ ...view, scope: null }, sql.ref("t.repository_id"), sql.ref("t.topic"), sql.ref("t.id"))}
      end`.execute(db);
  return rows;
}
