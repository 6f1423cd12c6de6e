/** What records are anchored to, and what was read of it (protocol 11). Rows come and go with their links, by triggers. */

import { sql } from "kysely";
import type { Anchor } from "../domain/anchors.ts";
import { numberOfRef, type RecordRef } from "../domain/record-key.ts";
import type { Db, Trx } from "./database.ts";
import { askItemChecks } from "./item-checks.ts";
import type { RecordLink } from "./records.ts";

/** Those of one record. */
export async function findAnchors(db: Db, ref: RecordRef): Promise<Anchor[]> {
  const rows = await db
    .selectFrom("anchor")
    .selectAll()
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .orderBy("target_repository_id")
    .orderBy("target")
    .execute();
  return rows.map((row) => ({
    repositoryId: row.target_repository_id,
    target: row.target,
    branch: row.branch,
    captured: row.captured,
    current: row.current,
    driftedAt: row.drifted_at,
  }));
}

/** Captures anew those of these links that were captured before: whoever adds a link again has looked at the file. */
export async function anchorAnew(trx: Trx, ref: RecordRef, links: readonly RecordLink[]): Promise<void> {
  const anchors = links.filter(({ relation }) => relation === "anchoredTo");
  if (anchors.length === 0) return;
  const number = numberOfRef(ref);
  // The item's row first: its defects may be others now.
  if (number !== null)
    await sql`select 1 from item where repository_id = ${ref.repositoryId} and number = ${number} for update`.execute(
      trx,
    );
  for (const { repositoryId, target } of anchors) {
    await sql`
      update anchor a set asked = asked + 1, captured = null, current = null, read_at = null, drifted_at = null,
        since_sha = (select b.seen_sha from anchored_branch b
          where b.repository_id = a.target_repository_id and b.name = a.branch)
      where repository_id = ${ref.repositoryId} and topic = ${ref.topic} and id = ${ref.id}
        and target_repository_id = ${repositoryId} and target = ${target} and captured is not null`.execute(
      trx,
    );
  }
  if (number !== null) await askItemChecks(trx, [{ repositoryId: ref.repositoryId, number }]);
}

/** The paths that are anchored on a branch, and its head as it was seen last. Null: none are. */
export async function findAnchoredPaths(
  trx: Trx,
  repositoryId: number,
  branch: string,
): Promise<{ paths: string[]; seen: string | null } | null> {
  const { rows } = await sql<{ paths: string[]; seen: string | null }>`
    select array(select distinct substr(a.target, 6) from anchor a
        where a.target_repository_id = ${repositoryId} and a.branch = ${branch}) as paths,
      (select b.seen_sha from anchored_branch b
        where b.repository_id = ${repositoryId} and b.name = ${branch}) as seen`.execute(trx);
  const row = rows[0];
  return row && row.paths.length > 0 ? row : null;
}

/** A push was heard of. `seen` is the branch's head now; null: that is not known. */
export async function saveAnchorPush(
  trx: Trx,
  repositoryId: number,
  branch: string,
  { seen, isRead }: { seen: string | null; isRead: boolean },
): Promise<void> {
  await sql`
    insert into anchored_branch as b (repository_id, name, seen_sha, wanted)
    values (${repositoryId}, ${branch}, ${seen}, ${isRead ? 1 : 0})
    on conflict (repository_id, name) do update set seen_sha = excluded.seen_sha, wanted = b.wanted + excluded.wanted`.execute(
    trx,
  );
}
