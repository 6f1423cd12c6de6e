/** The mirror of branch heads, with who pushed them. */

import { sql } from "kysely";
import type { Db, Trx } from "./database.ts";

export interface BranchHead {
  readonly name: string;
  /** Null: the branch was deleted. */
  readonly sha: string | null;
  readonly pusherId: number | null;
  readonly pusherLogin: string | null;
  readonly pusherType: string | null;
  readonly pushedAt: Date;
}

export async function saveBranchHead(trx: Trx, repositoryId: number, head: BranchHead): Promise<void> {
  const facts = {
    head_sha: head.sha,
    pusher_id: head.pusherId,
    pusher_login: head.pusherLogin,
    pusher_type: head.pusherType,
    // Not asked yet, of this push.
    by_human: null,
    pushed_at: head.pushedAt,
  };
  await trx
    .insertInto("branch")
    .values({ repository_id: repositoryId, name: head.name, ...facts })
    .onConflict((conflict) =>
      conflict
        .columns(["repository_id", "name"])
        .doUpdateSet(facts)
        .where((where) =>
          where.or([
            where("branch.pushed_at", "<=", head.pushedAt),
            // It was read before its push was heard of.
            where.and([where("branch.head_sha", "=", head.sha), where("branch.pusher_id", "is", null)]),
          ]),
        ),
    )
    .execute();
}

/** The head of each branch that is there, as the mirror has it. */
export async function branchHeads(db: Db, repositoryId: number): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom("branch")
    .select(["name", "head_sha"])
    .where("repository_id", "=", repositoryId)
    .execute();
  return new Map(
    rows.flatMap(({ name, head_sha }) => (head_sha === null ? [] : [[name, head_sha] as const])),
  );
}

/**
 * A head that was read: nobody knows who pushed it, or when, but that it was `by` then. The push that it comes from
 * still tells, should it be heard of.
 */
export async function saveReadHead(
  trx: Trx,
  repositoryId: number,
  { name, sha, by }: { name: string; sha: string | null; by: Date },
): Promise<void> {
  const facts = {
    head_sha: sha,
    pusher_id: null,
    pusher_login: null,
    pusher_type: null,
    by_human: null,
    pushed_at: by,
  };
  await trx
    .insertInto("branch")
    .values({ repository_id: repositoryId, name, ...facts })
    .onConflict((conflict) =>
      conflict
        .columns(["repository_id", "name"])
        .doUpdateSet(facts)
        .where("branch.pushed_at", "<=", by)
        .where("branch.head_sha", "is distinct from", sha),
    )
    .execute();
}

/** The branches on which something is anchored, with the head that was seen last. */
export async function anchoredHeads(
  db: Db,
  repositoryId: number,
): Promise<ReadonlyMap<string, string | null>> {
  const { rows } = await sql<{ name: string; seen: string | null }>`
    select distinct a.branch as name, b.seen_sha as seen from anchor a
    left join anchored_branch b on b.repository_id = a.target_repository_id and b.name = a.branch
    where a.target_repository_id = ${repositoryId}`.execute(db);
  return new Map(rows.map(({ name, seen }) => [name, seen]));
}
