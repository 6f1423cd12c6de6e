/** What Leasehold was asked to open on GitHub and has not finished, and how far it came (`migrations/0011`). */

import { sql } from "kysely";
import type { View } from "../domain/scope.ts";
import type { KeptView } from "./authoring-schema.ts";
import { dbNow, dbNowPlus } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

export interface NewAuthoring {
  readonly repositoryId: number;
  readonly id: string;
  readonly kind: "item" | "grouping";
  readonly actor: string;
  readonly requestKey: string;
  readonly fingerprint: string;
  readonly branch: string | null;
  readonly request: object;
  readonly view: View;
  readonly answerFingerprint: string;
}

export interface Authoring {
  readonly id: string;
  readonly fingerprint: string;
  readonly branch: string | null;
}

/** One of the issues of a request. */
export interface Slot {
  readonly ref: string;
  readonly mark: string;
  /** When GitHub was last asked to open it; it may be there. */
  readonly triedAt: Date | null;
  readonly number: number | null;
}

/** A request under somebody's hands. */
export interface Work {
  readonly repositoryId: number;
  readonly id: string;
  readonly worker: string;
}

/** One at a time looks for an unfinished request, and begins one. */
export async function lockAuthoring(trx: Trx, repositoryId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`authoring/${repositoryId}`}, 7203))`.execute(
    trx,
  );
}

const COLUMNS = ["id", "fingerprint", "branch"] as const;

export async function findAuthoringByKey(
  db: Db,
  { repositoryId, actor, requestKey }: Pick<NewAuthoring, "repositoryId" | "actor" | "requestKey">,
): Promise<Authoring | null> {
  const row = await db
    .selectFrom("authoring")
    .select(COLUMNS)
    .where("repository_id", "=", repositoryId)
    .where("actor", "=", actor)
    .where("request_key", "=", requestKey)
    .executeTakeFirst();
  return row ?? null;
}

export async function findAuthoringByBranch(
  db: Db,
  repositoryId: number,
  branch: string,
): Promise<Authoring | null> {
  const row = await db
    .selectFrom("authoring")
    .select(COLUMNS)
    .where("repository_id", "=", repositoryId)
    .where("branch", "=", branch)
    .executeTakeFirst();
  return row ?? null;
}

/** Writes down what is asked for, before GitHub is told any of it. */
export async function insertAuthoring(
  trx: Trx,
  asked: NewAuthoring,
  slots: readonly { ref: string; mark: string }[],
): Promise<void> {
  const { repositoryId, id } = asked;
  const { repositories, scope } = asked.view;
  await trx
    .insertInto("authoring")
    .values({
      repository_id: repositoryId,
      id,
      kind: asked.kind,
      actor: asked.actor,
      request_key: asked.requestKey,
      fingerprint: asked.fingerprint,
      branch: asked.branch,
      request: JSON.stringify(asked.request),
      view: JSON.stringify({ repositories: repositories && [...repositories], scope }),
      answer_fingerprint: asked.answerFingerprint,
      worker: null,
      worker_until: null,
    })
    .execute();
  await trx
    .insertInto("authored_issue")
    .values(
      slots.map(({ ref, mark }) => ({
        repository_id: repositoryId,
        authoring_id: id,
        ref,
        mark,
        tried_at: null,
        number: null,
      })),
    )
    .execute();
}

/** Longer than two requests to GitHub may take, at twenty seconds each. Prolonged with every step. */
const WORKER_SECONDS = 60;

/** Takes a request into somebody's hands. False: it is in another's. */
export async function takeAuthoring(db: Db, { repositoryId, id, worker }: Work): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("authoring")
    .set({ worker, worker_until: dbNowPlus(WORKER_SECONDS) })
    .where("repository_id", "=", repositoryId)
    .where("id", "=", id)
    .where((eb) =>
      eb.or([eb("worker_until", "is", null), eb("worker_until", "<", dbNow), eb("worker", "=", worker)]),
    )
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** A grouping that was begun and left. */
export interface LeftGrouping {
  readonly repositoryId: number;
  readonly id: string;
  readonly actor: string;
  readonly requestKey: string;
  readonly answerFingerprint: string;
  readonly branch: string;
  readonly request: unknown;
  readonly view: View;
  /** This one counted. */
  readonly tries: number;
}

/** Goes on so often, at most an hour apart: for some eight hours. */
export const MOST_TRIES = 12;

/** Takes the grouping that is due and in nobody's hands into somebody's; null: there is none. */
export async function takeLeftGrouping(db: Db, worker: string): Promise<LeftGrouping | null> {
  const { rows } = await sql<Omit<LeftGrouping, "view"> & { view: KeptView }>`
    update authoring a set worker = ${worker}, worker_until = db_now() + make_interval(secs => ${WORKER_SECONDS}),
      tries = tries + 1, next_try_at = db_now() + least(interval '1 minute' * 2 ^ tries, interval '1 hour')
    where (a.repository_id, a.id) = (
      select d.repository_id, d.id from authoring d
      where d.kind = 'grouping' and d.view is not null and d.next_try_at <= db_now() and d.tries < ${MOST_TRIES}
        and (d.worker_until is null or d.worker_until < db_now())
      order by d.next_try_at limit 1 for update skip locked)
    returning repository_id as "repositoryId", id, actor, request_key as "requestKey",
      answer_fingerprint as "answerFingerprint", branch, request, view, tries`.execute(db);
  const [row] = rows;
  if (row === undefined) return null;
  const { repositories, scope } = row.view;
  return { ...row, view: { repositories: repositories && new Set(repositories), scope } };
}

/** Out of those hands, for whoever asks next. */
export async function releaseAuthoring(db: Db, { repositoryId, id, worker }: Work): Promise<void> {
  await db
    .updateTable("authoring")
    .set({ worker: null, worker_until: null })
    .where("repository_id", "=", repositoryId)
    .where("id", "=", id)
    .where("worker", "=", worker)
    .execute();
}

export async function slotsOf(db: Db, repositoryId: number, id: string): Promise<Slot[]> {
  const { rows } = await sql<Slot>`
    select ref, mark, tried_at as "triedAt", number from authored_issue
    where repository_id = ${repositoryId} and authoring_id = ${id}`.execute(db);
  return rows;
}

/** GitHub is about to be asked for it (or, `false`, has refused it). False: the request is in other hands by now. */
export async function markTried(
  db: Db,
  work: Work,
  ref: string,
  triedAt: Date | null | "now" = "now",
): Promise<boolean> {
  if (!(await takeAuthoring(db, work))) return false;
  await db
    .updateTable("authored_issue")
    .set({ tried_at: triedAt === "now" ? dbNow : triedAt })
    .where("repository_id", "=", work.repositoryId)
    .where("authoring_id", "=", work.id)
    .where("ref", "=", ref)
    .execute();
  return true;
}

/** GitHub has it under this number. True whoever says so. */
export async function saveNumber(
  db: Db,
  { repositoryId, id }: Pick<Work, "repositoryId" | "id">,
  ref: string,
  number: number,
): Promise<void> {
  await db
    .updateTable("authored_issue")
    .set({ number })
    .where("repository_id", "=", repositoryId)
    .where("authoring_id", "=", id)
    .where("ref", "=", ref)
    .execute();
}

/** It is done, or given up. In the transaction that writes its records, so that it is done once; false: it was before. */
export async function endAuthoring(trx: Trx, repositoryId: number, id: string): Promise<boolean> {
  await trx
    .deleteFrom("authored_issue")
    .where("repository_id", "=", repositoryId)
    .where("authoring_id", "=", id)
    .execute();
  const { numDeletedRows } = await trx
    .deleteFrom("authoring")
    .where("repository_id", "=", repositoryId)
    .where("id", "=", id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** For how many seconds GitHub said to write nothing for the installation; null: nothing stands in the way. */
export async function secondsPaused(db: Db, installationId: number): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select ceil(extract(epoch from paused_until - db_now()))::int as seconds from installation
    where id = ${installationId} and paused_until > db_now()`.execute(db);
  return rows[0]?.seconds ?? null;
}

export interface OpenIssue {
  readonly number: number;
  readonly title: string;
  readonly url: string;
}

/** The open issues that were opened last. */
export async function openTitles(db: Db, repositoryId: number, limit: number): Promise<OpenIssue[]> {
  const { rows } = await sql<OpenIssue>`
    select number, title, html_url as url from issue
    where repository_id = ${repositoryId} and state = 'open' and gone is null
    order by number desc limit ${limit}`.execute(db);
  return rows;
}
