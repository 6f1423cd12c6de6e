/** What the park sweep and a human's label ask of items (protocol 5). */

import { sql } from "kysely";
import type { Db, Trx } from "./database.ts";

/** A human asks for it to be parked, when nobody works on it any more; null: asks no longer. `at` is GitHub's time. */
export async function askPark(
  trx: Trx,
  repositoryId: number,
  number: number,
  asked: { by: string; at: Date } | null,
): Promise<void> {
  await trx
    .updateTable("item")
    .set({ park_by: asked?.by ?? null, park_at: asked?.at ?? null })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .where("state", "is", null)
    .execute();
}

/** Live items whose attempts may have crossed the threshold and that nobody holds: the sweep judges each afresh. */
export async function itemsToSweep(db: Db, limit: number, after: { repositoryId: number; number: number }) {
  const { rows } = await sql<{ repositoryId: number; number: number }>`
    select i.repository_id as "repositoryId", i.number from item i
    where i.state is null and i.enrolled
      and (i.repository_id, i.number) > (${after.repositoryId}, ${after.number})
      and (i.park_by is not null
        or exists (select 1 from claim c where c.repository_id = i.repository_id
                   and c.topic = 'backlog' and c.id = 'issue-' || i.number and c.fence > i.attempts_after
                   and (not c.live or c.lease_expires_at <= db_now()))
        or exists (select 1 from claim_marker m where m.repository_id = i.repository_id
                   and m.issue_number = i.number and m.fence > i.attempts_after))
    order by i.repository_id, i.number limit ${limit}`.execute(db);
  return rows;
}
