/** The mirror of comments. A deleted one is kept as deleted, so that nothing that comes late brings it back. */

import type { Db, Trx } from "./database.ts";

export interface CommentSnapshot {
  readonly id: number;
  readonly issueNumber: number;
  readonly body: string;
  readonly authorId: number | null;
  readonly authorLogin: string | null;
  readonly authorType: string | null;
  readonly authorAssociation: string | null;
  readonly viaAppId: number | null;
  readonly url: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Stores a comment unless the mirror has a newer one; a deleted comment stays deleted. */
export async function saveComment(trx: Trx, repositoryId: number, comment: CommentSnapshot): Promise<void> {
  const facts = {
    // It moves along with an issue that comes back to a repository where it was before.
    issue_number: comment.issueNumber,
    body: comment.body,
    author_id: comment.authorId,
    author_login: comment.authorLogin,
    author_type: comment.authorType,
    author_association: comment.authorAssociation,
    via_app_id: comment.viaAppId,
    html_url: comment.url,
    created_at: comment.createdAt,
    updated_at: comment.updatedAt,
  };
  await trx
    .insertInto("issue_comment")
    .values({ repository_id: repositoryId, id: comment.id, ...facts })
    .onConflict((conflict) =>
      conflict
        .columns(["repository_id", "id"])
        .doUpdateSet(facts)
        .where("issue_comment.updated_at", "<=", comment.updatedAt),
    )
    .execute();
}

export interface MirroredComment {
  readonly comment: CommentSnapshot;
  readonly deleted: boolean;
}

/** The comment as mirrored; null when it was never seen. */
export async function findComment(db: Db, repositoryId: number, id: number): Promise<MirroredComment | null> {
  const row = await db
    .selectFrom("issue_comment")
    .selectAll()
    .where("repository_id", "=", repositoryId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) return null;
  const comment = {
    id: row.id,
    issueNumber: row.issue_number,
    body: row.body,
    authorId: row.author_id,
    authorLogin: row.author_login,
    authorType: row.author_type,
    authorAssociation: row.author_association,
    viaAppId: row.via_app_id,
    url: row.html_url,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
  return { comment, deleted: row.deleted };
}

export async function markCommentDeleted(trx: Trx, repositoryId: number, id: number): Promise<void> {
  await trx
    .updateTable("issue_comment")
    .set({ deleted: true })
    .where("repository_id", "=", repositoryId)
    .where("id", "=", id)
    .execute();
}

/** Comments that are there and whose text is like the pattern, on issues that are there. */
export async function commentsLike(
  db: Db,
  repositoryId: number,
  pattern: string,
): Promise<{ id: number; body: string; issue: number }[]> {
  return db
    .selectFrom("issue_comment as c")
    .innerJoin("issue as i", (join) =>
      join.onRef("i.repository_id", "=", "c.repository_id").onRef("i.number", "=", "c.issue_number"),
    )
    .select(["c.id", "c.body", "c.issue_number as issue"])
    .where("c.repository_id", "=", repositoryId)
    .where("c.deleted", "=", false)
    .where("i.gone", "is", null)
    .where("c.body", "like", pattern)
    .orderBy("c.id")
    .execute();
}
