/** The mirror of pull requests, their reviews and checks. */

import { type Selectable, sql } from "kysely";
import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";
import type { CheckSuiteTable, PullRequestReviewTable, PullRequestTable } from "./mirror-schema.ts";

export interface PullSnapshot {
  readonly number: number;
  readonly id: number;
  readonly title: string;
  readonly body: string | null;
  readonly open: boolean;
  readonly draft: boolean;
  readonly mergedAt: Date | null;
  readonly mergeSha: string | null;
  /** Null until the pull request itself was read: the issue list names it without branches. */
  readonly branches: {
    readonly base: string;
    readonly head: string;
    readonly headSha: string;
    readonly headRepositoryId: number | null;
  } | null;
  readonly authorId: number | null;
  readonly authorLogin: string | null;
  readonly authorType: string | null;
  readonly authorAssociation: string | null;
  readonly url: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly closedAt: Date | null;
  /** Issues that its text closes by keyword. */
  readonly closes: readonly number[];
  /** Logins in lower case, and teams as `team:<slug>`, whose review is asked for. */
  readonly asked: readonly string[];
}

/** Stores a pull request unless the mirror has a newer one. A merge is never taken back (github-cases 33). */
export async function savePull(trx: Trx, repositoryId: number, pull: PullSnapshot): Promise<void> {
  const key = { repository_id: repositoryId, number: pull.number };
  const facts = {
    id: pull.id,
    title: pull.title,
    body: pull.body,
    state: pull.open ? "open" : "closed",
    draft: pull.draft,
    merged_at: pull.mergedAt,
    merge_sha: pull.mergeSha,
    base_ref: pull.branches?.base ?? null,
    head_ref: pull.branches?.head ?? null,
    head_sha: pull.branches?.headSha ?? null,
    head_repository_id: pull.branches?.headRepositoryId ?? null,
    author_id: pull.authorId,
    author_login: pull.authorLogin,
    author_type: pull.authorType,
    author_association: pull.authorAssociation,
    html_url: pull.url,
    created_at: pull.createdAt,
    updated_at: pull.updatedAt,
    closed_at: pull.closedAt,
    review_asked: [...pull.asked],
  } satisfies Partial<Selectable<PullRequestTable>>;
  const saved = await trx
    .insertInto("pull_request")
    .values({ ...key, ...facts, head_at: dbNow })
    .onConflict((conflict) =>
      conflict
        .columns(["repository_id", "number"])
        .doUpdateSet({
          ...facts,
          head_at: sql`case when pull_request.head_sha is distinct from ${facts.head_sha} then db_now() else pull_request.head_at end`,
          ...(pull.open ? {} : { read_due_at: null }),
        })
        .where("pull_request.updated_at", "<=", pull.updatedAt)
        .where((where) =>
          where.or([where("pull_request.merged_at", "is", null), where.val(pull.mergedAt !== null)]),
        )
        // The issue list's row, without branches, never replaces the pull request's own.
        .where((where) =>
          where.or([where("pull_request.head_sha", "is", null), where.val(pull.branches !== null)]),
        ),
    )
    .returning("number")
    .executeTakeFirst();
  if (!saved) return;
  const named = [...pull.closes];
  await trx
    .deleteFrom("pull_request_closes")
    .where("repository_id", "=", repositoryId)
    .where("pull_number", "=", pull.number)
    .where((where) => where.not(where("issue_number", "=", where.fn.any(where.val(named)))))
    .execute();
  if (named.length === 0) return;
  await trx
    .insertInto("pull_request_closes")
    .values(
      named.map((issue) => ({ repository_id: repositoryId, pull_number: pull.number, issue_number: issue })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** The pull request as mirrored; null when it was never seen. */
export async function findPull(db: Db, repositoryId: number, number: number): Promise<PullSnapshot | null> {
  const row = await db
    .selectFrom("pull_request")
    .selectAll()
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .executeTakeFirst();
  if (!row) return null;
  const closes = await db
    .selectFrom("pull_request_closes")
    .select("issue_number")
    .where("repository_id", "=", repositoryId)
    .where("pull_number", "=", number)
    .execute();
  return {
    number: row.number,
    id: row.id,
    title: row.title,
    body: row.body,
    open: row.state === "open",
    draft: row.draft,
    mergedAt: row.merged_at,
    mergeSha: row.merge_sha,
    branches:
      row.head_sha === null
        ? null
        : {
            base: row.base_ref ?? "",
            head: row.head_ref ?? "",
            headSha: row.head_sha,
            headRepositoryId: row.head_repository_id,
          },
    authorId: row.author_id,
    authorLogin: row.author_login,
    authorType: row.author_type,
    authorAssociation: row.author_association,
    url: row.html_url,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    closedAt: row.closed_at,
    closes: closes.map(({ issue_number }) => issue_number),
    asked: row.review_asked,
  };
}

export interface NamingPull {
  readonly number: number;
  readonly open: boolean;
  readonly mergedAt: Date | null;
  readonly base: string | null;
}

/** Pull requests whose text closes the issue by keyword. */
export async function pullsNaming(db: Db, repositoryId: number, issue: number): Promise<NamingPull[]> {
  const rows = await db
    .selectFrom("pull_request_closes as c")
    .innerJoin("pull_request as p", (join) =>
      join.onRef("p.repository_id", "=", "c.repository_id").onRef("p.number", "=", "c.pull_number"),
    )
    .select(["p.number", "p.state", "p.merged_at", "p.base_ref"])
    .where("c.repository_id", "=", repositoryId)
    .where("c.issue_number", "=", issue)
    .orderBy("p.number")
    .execute();
  return rows.map((row) => ({
    number: row.number,
    open: row.state === "open",
    mergedAt: row.merged_at,
    base: row.base_ref,
  }));
}

export interface MergedSince {
  readonly number: number;
  readonly mergedAt: Date;
  readonly base: string;
  /** Null where the branch lies in another repository. */
  readonly head: string | null;
  /** Its text closes the issue by keyword. */
  readonly closes: boolean;
}

/** Merges since then that may be about the issue: its number is in their text or their branch, oldest first. */
export async function mergesSince(
  db: Db,
  repositoryId: number,
  issue: number,
  since: Date,
): Promise<MergedSince[]> {
  const { rows } = await sql<MergedSince>`
    select p.number, p.merged_at as "mergedAt", p.base_ref as base, c.pull_number is not null as closes,
      case when p.head_repository_id = p.repository_id then p.head_ref end as head
    from pull_request p
    left join pull_request_closes c
      on c.repository_id = p.repository_id and c.pull_number = p.number and c.issue_number = ${issue}
    where p.repository_id = ${repositoryId} and p.merged_at >= ${since} and p.base_ref is not null
      and (c.pull_number is not null or position(${String(issue)} in p.head_ref) > 0)
    order by p.merged_at, p.number`.execute(db);
  return rows;
}

/** Open pull requests known only from the issue list, in order. */
export async function pullsWithoutBranches(
  db: Db,
  repositoryId: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await db
    .selectFrom("pull_request")
    .select("number")
    .where("repository_id", "=", repositoryId)
    .where("number", ">", after)
    .where("head_sha", "is", null)
    .where("state", "=", "open")
    .orderBy("number")
    .limit(limit)
    .execute();
  return rows.map((row) => row.number);
}

export async function saveReview(trx: Trx, review: Selectable<PullRequestReviewTable>): Promise<void> {
  await trx
    .insertInto("pull_request_review")
    .values(review)
    .onConflict((conflict) =>
      conflict
        .columns(["repository_id", "id"])
        .doUpdateSet({
          state: review.state,
          commit_sha: review.commit_sha,
          reviewer_type: review.reviewer_type,
          reviewer_association: review.reviewer_association,
        })
        // A dismissal is the last word; its review's own news may come later.
        .where("pull_request_review.state", "!=", "dismissed")
        // What is read once more as it was is not written.
        .where(
          sql<boolean>`(pull_request_review.state, pull_request_review.commit_sha, pull_request_review.reviewer_type,
            pull_request_review.reviewer_association) is distinct from (${review.state}::text, ${review.commit_sha}::text,
            ${review.reviewer_type}::text, ${review.reviewer_association}::text)`,
        ),
    )
    .execute();
}

/** Open pull requests that are items' own and have this head. */
export async function ownPullsAt(db: Db, repositoryId: number, sha: string): Promise<number[]> {
  const rows = await db
    .selectFrom("pull_request as p")
    .select("p.number")
    .where("p.repository_id", "=", repositoryId)
    .where("p.head_sha", "=", sha)
    .where("p.state", "=", "open")
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("own_pull as o")
          .select("o.number")
          .whereRef("o.repository_id", "=", "p.repository_id")
          .whereRef("o.pull_number", "=", "p.number"),
      ),
    )
    .orderBy("p.number")
    .execute();
  return rows.map((row) => row.number);
}

/** Whoever reviews has answered: their review is not waited for any more. */
export async function noteAnswered(
  trx: Trx,
  repositoryId: number,
  pull: number,
  login: string,
): Promise<void> {
  await sql`
    update pull_request set review_asked = array_remove(review_asked, ${login.toLowerCase()})
    where repository_id = ${repositoryId} and number = ${pull}`.execute(trx);
}

/** Stores a check suite unless the mirror has a newer one. */
export async function saveCheckSuite(trx: Trx, suite: Selectable<CheckSuiteTable>): Promise<void> {
  const { repository_id: _, id: __, ...facts } = suite;
  await trx
    .insertInto("check_suite")
    .values(suite)
    .onConflict((conflict) =>
      conflict
        .columns(["repository_id", "id"])
        .doUpdateSet(facts)
        .where("check_suite.updated_at", "<=", suite.updated_at),
    )
    .execute();
}
