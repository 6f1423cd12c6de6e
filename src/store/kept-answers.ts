/** Answers kept under the callers' idempotency keys (api.md, "Errors"). */

import { sql } from "kysely";
import type { RecordRef } from "../domain/record-key.ts";
import { dbNowPlus } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

/** For so long the first success is answered again. */
const KEPT_SECONDS = 86_400;

export interface AnswerKey {
  readonly actor: string;
  /** The caller's `Idempotency-Key`. */
  readonly key: string;
  /** Tells one request from another: of its method, path and body. */
  readonly fingerprint: string;
}

/** The grant that an answer tells of. */
export interface AnsweredGrant {
  readonly ref: RecordRef;
  readonly fence: number;
}

export interface KeptAnswer {
  readonly fingerprint: string;
  readonly status: number;
  readonly body: string;
  /** False: it tells of a grant that is not the record's current one any more. */
  readonly current: boolean;
}

/** One request of a key at a time: the second waits, and then finds what the first kept. */
export async function lockAnswer(trx: Trx, { actor, key }: AnswerKey): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`${actor}/${key}`}, 7204))`.execute(trx);
}

export async function findAnswer(db: Db, { actor, key }: AnswerKey): Promise<KeptAnswer | null> {
  const { rows } = await sql<KeptAnswer>`
    select k.fingerprint, k.status, k.body, k.fence is null or exists (
      select 1 from claim c where c.repository_id = k.repository_id and c.topic = k.topic and c.id = k.id
        and c.fence = k.fence and c.live and c.lease_expires_at > db_now()) as current
    from kept_answer k where k.actor = ${actor} and k.key = ${key} and k.kept_until > db_now()`.execute(db);
  return rows[0] ?? null;
}

/** Keeps an answer in the transaction of its effect. What had run out under the key is replaced. */
export async function keepAnswer(
  trx: Trx,
  key: AnswerKey,
  answer: { status: number; body: string; grant: AnsweredGrant | null },
): Promise<void> {
  const { grant } = answer;
  const facts = {
    fingerprint: key.fingerprint,
    status: answer.status,
    body: answer.body,
    repository_id: grant?.ref.repositoryId ?? null,
    topic: grant?.ref.topic ?? null,
    id: grant?.ref.id ?? null,
    fence: grant?.fence ?? null,
    kept_until: dbNowPlus(KEPT_SECONDS),
  };
  await trx
    .insertInto("kept_answer")
    .values({ actor: key.actor, key: key.key, ...facts })
    .onConflict((conflict) => conflict.columns(["actor", "key"]).doUpdateSet(facts))
    .execute();
}

/** A grant that reached nobody is asked for again under the same key, and must be made anew. */
export async function dropAnswersOf(trx: Trx, { ref, fence }: AnsweredGrant): Promise<void> {
  await trx
    .deleteFrom("kept_answer")
    .where("repository_id", "=", ref.repositoryId)
    .where("topic", "=", ref.topic)
    .where("id", "=", ref.id)
    .where("fence", "=", fence)
    .execute();
}

/** Forgets what has run out. */
export async function pruneAnswers(db: Db): Promise<void> {
  await sql`delete from kept_answer where kept_until < db_now()`.execute(db);
}
