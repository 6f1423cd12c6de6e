/** Open pull requests and the items they may be the own work of (protocol 6, "Its own pull request"). */

import { sql } from "kysely";
import { itemOfBranch } from "../domain/branch-names.ts";
import type { CheckSuiteFacts } from "../domain/pull-checks.ts";
import type { ItemReview, ReviewFacts } from "../domain/review.ts";
import type { Db, Trx } from "./database.ts";
import { integrationItemsAt } from "./groupings.ts";
import { itemsRecordingPull } from "./items.ts";

export interface PullOfItem {
  readonly number: number;
  readonly url: string;
  readonly title: string;
  readonly draft: boolean;
  readonly base: string;
  readonly headRef: string | null;
  readonly headSha: string;
  readonly headRepositoryId: number | null;
  readonly authorAssociation: string | null;
  readonly closes: readonly number[];
  readonly checks: readonly CheckSuiteFacts[];
  readonly reviews: readonly ReviewFacts[];
  readonly asked: readonly string[];
  readonly headAt: Date | null;
  readonly readAt: Date | null;
  readonly readHead: string | null;
  readonly readBase: string | null;
  readonly mergeable: boolean | null;
  readonly mergeableState: string | null;
  readonly reads: number;
  readonly movedAt: Date | null;
  readonly checkHead: string | null;
  readonly checkConclusion: string | null;
}

/**
 * Open pull requests that may be the item's own, the one that changed last first: `isOwnPull` judges. One of which
 * only the issue list told is left out until it was read itself.
 */
export async function findCandidatePulls(
  db: Db,
  repositoryId: number,
  number: number,
): Promise<PullOfItem[]> {
  const { rows } = await sql<
    Omit<PullOfItem, "reviews"> & {
      reviews: readonly (Omit<ReviewFacts, "submittedAt"> & { submittedAt: string | null })[];
    }
  >`
    select p.number, p.html_url as url, p.title, p.draft, p.base_ref as base, p.head_ref as "headRef",
      p.head_sha as "headSha", p.head_repository_id as "headRepositoryId",
      p.author_association as "authorAssociation", p.review_asked as asked, p.head_at as "headAt",
      p.read_at as "readAt", p.read_head as "readHead", p.read_base as "readBase", p.mergeable,
      p.mergeable_state as "mergeableState", p.reads, p.moved_at as "movedAt", p.check_head as "checkHead",
      p.check_conclusion as "checkConclusion",
      array(select c.issue_number from pull_request_closes c
        where c.repository_id = p.repository_id and c.pull_number = p.number) as closes,
      (select coalesce(jsonb_agg(jsonb_build_object('status', s.status, 'conclusion', s.conclusion, 'runs', s.runs)), '[]')
        from check_suite s where s.repository_id = p.repository_id and s.head_sha = p.head_sha) as checks,
      (select coalesce(jsonb_agg(jsonb_build_object('id', v.id, 'reviewer', v.reviewer_login,
          'reviewerType', v.reviewer_type, 'association', v.reviewer_association, 'state', v.state,
          'submittedAt', v.submitted_at)), '[]')
        from pull_request_review v where v.repository_id = p.repository_id and v.pull_number = p.number) as reviews
    from pull_request p
    where p.repository_id = ${repositoryId} and p.state = 'open' and p.head_sha is not null
      and p.base_ref is not null and (
      p.number in (select c.pull_number from pull_request_closes c
        where c.repository_id = ${repositoryId} and c.issue_number = ${number})
      or p.number in (select b.pull_number from resume_block b
        where b.repository_id = ${repositoryId} and b.number = ${number})
      or p.head_ref in (select b.branch from resume_block b
        where b.repository_id = ${repositoryId} and b.number = ${number})
      or 'pr:' || p.number in (select unnest(r.tags) from record r
        where r.repository_id = ${repositoryId} and r.topic = 'backlog' and r.id = ${`issue-${number}`})
      or p.head_ref like ${`%issue-${number}`}
      or p.head_ref in (select substr(t, 12) from item n
        join record e on e.repository_id = n.repository_id and e.topic = 'backlog'
          and e.id = 'issue-' || n.integrates, unnest(e.tags) t
        where n.repository_id = ${repositoryId} and n.number = ${number} and t like 'baseBranch:%'))
    order by p.updated_at desc, p.number desc`.execute(db);
  return rows.map((row) => ({
    ...row,
    reviews: row.reviews.map((review) => ({
      ...review,
      submittedAt: review.submittedAt === null ? null : new Date(review.submittedAt),
    })),
  }));
}

/** Issues that the pull request has to do with as the mirror knows it now: whose item it was, is, or may be. */
export async function issuesOfPull(db: Db, repositoryId: number, pull: number): Promise<number[]> {
  const { rows } = await sql<{ number: number | null; head_ref: string | null }>`
    select c.issue_number as number, null as head_ref from pull_request_closes c
      where c.repository_id = ${repositoryId} and c.pull_number = ${pull}
    union select o.number, null from own_pull o where o.repository_id = ${repositoryId} and o.pull_number = ${pull}
    union select b.number, null from pull_request p
      join resume_block b on b.repository_id = p.repository_id and b.branch = p.head_ref
      where p.repository_id = ${repositoryId} and p.number = ${pull}
    union select null, p.head_ref from pull_request p where p.repository_id = ${repositoryId} and p.number = ${pull}`.execute(
    db,
  );
  const byBranch = rows.flatMap(({ head_ref }) =>
    head_ref === null ? [] : (itemOfBranch(head_ref)?.number ?? []),
  );
  const integrating: number[] = [];
  for (const { head_ref } of rows)
    if (head_ref !== null) integrating.push(...(await integrationItemsAt(db, repositoryId, head_ref)));
  const recording = await itemsRecordingPull(db, repositoryId, pull);
  const named = rows.flatMap(({ number }) => number ?? []);
  return [...new Set([...named, ...byBranch, ...integrating, ...recording])];
}

/** Items whose own open pull requests have this head. */
export async function itemsAtHead(db: Db, repositoryId: number, sha: string): Promise<number[]> {
  const rows = await db
    .selectFrom("own_pull as o")
    .innerJoin("pull_request as p", (join) =>
      join.onRef("p.repository_id", "=", "o.repository_id").onRef("p.number", "=", "o.pull_number"),
    )
    .select("o.number")
    .distinct()
    .where("p.repository_id", "=", repositoryId)
    .where("p.head_sha", "=", sha)
    .where("p.state", "=", "open")
    .execute();
  return rows.map((row) => row.number);
}

/** How many open pull requests of the repository are items' own. */
export async function countOwnPulls(db: Db, repositoryId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(distinct pull_number)::int as count from own_pull where repository_id = ${repositoryId}`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}

/**
 * Keeps which pull requests are the item's own, and what they mean for it. Callers hold the item's lock. Answers the one
 * that decided before.
 */
export async function saveItemReview(
  trx: Trx,
  repositoryId: number,
  number: number,
  own: readonly number[],
  review: ItemReview | null,
): Promise<number | null> {
  const { rows } = await sql<{ pull: number | null }>`
    select review_pull as pull from item where repository_id = ${repositoryId} and number = ${number}`.execute(
    trx,
  );
  await sql`
    delete from own_pull where repository_id = ${repositoryId} and number = ${number}
      and not pull_number = any (${[...own]}::int[])`.execute(trx);
  await sql`
    insert into own_pull (repository_id, number, pull_number)
    select ${repositoryId}, ${number}, p from unnest(${[...own]}::int[]) p order by p
    on conflict do nothing`.execute(trx);
  await sql`
    update item set review = ${review?.review ?? null}, review_pull = ${review?.pull ?? null}, review_waits = ${review?.waits ?? null}
    where repository_id = ${repositoryId} and number = ${number}
      and (review, review_pull, review_waits) is distinct from
          (${review?.review ?? null}::text, ${review?.pull ?? null}::int, ${review?.waits ?? null}::text)`.execute(
    trx,
  );
  return rows[0]?.pull ?? null;
}
