/** Grants and markers of an item, one row for each fencing token. */

import { sql } from "kysely";
import type { ClaimEnd } from "./claim-schema.ts";
import type { Db } from "./database.ts";

export interface AttemptRow {
  readonly fence: number;
  readonly grant: {
    readonly owner: string;
    readonly grantedAt: string;
    readonly newAttempt: boolean;
    readonly ended: ClaimEnd | null;
  } | null;
  readonly marker: {
    readonly owner: string;
    readonly commentId: number;
    readonly url: string | null;
    readonly byApp: boolean;
    readonly countedAt: string;
  } | null;
}

/** Below a fence, the newest first. A lease that ran out with nobody after it has lapsed. */
export async function listAttempts(
  db: Db,
  repositoryId: number,
  number: number,
  below: number,
  limit: number,
): Promise<AttemptRow[]> {
  const { rows } = await sql<AttemptRow>`
    with grants as (
      select g.fence, jsonb_build_object('owner', g.owner, 'grantedAt', g.granted_at, 'newAttempt', g.new_attempt,
        'ended', coalesce(g.ended, case when c.live and c.lease_expires_at <= db_now() then 'lapsed' end)) as body
      from claim_grant g
      left join claim c on c.repository_id = g.repository_id and c.topic = g.topic and c.id = g.id and c.fence = g.fence
      where g.repository_id = ${repositoryId} and g.topic = 'backlog' and g.id = ${`issue-${number}`}
        and g.fence < ${below}),
    markers as (
      select m.fence, jsonb_build_object('owner', m.owner, 'commentId', m.comment_id, 'url', c.html_url,
        'byApp', m.by_app, 'countedAt', m.counted_at) as body
      from claim_marker m
      left join issue_comment c on c.repository_id = m.repository_id and c.id = m.comment_id
      where m.repository_id = ${repositoryId} and m.issue_number = ${number} and m.fence < ${below})
    select fence, g.body as "grant", m.body as marker
    from grants g full join markers m using (fence) order by fence desc limit ${limit}`.execute(db);
  return rows;
}

/** The last token before a human unparked the item: those up to it count no more. 0: none; null: the issue is no item. */
export async function countedAfter(db: Db, repositoryId: number, number: number): Promise<number | null> {
  const row = await db
    .selectFrom("item")
    .select("attempts_after")
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .executeTakeFirst();
  return row?.attempts_after ?? null;
}
