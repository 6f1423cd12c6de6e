/** The outbox: what GitHub is still to be told, promised in the transaction that made it true. */

import { sql } from "kysely";
import type { EffectKind } from "../domain/outbox-order.ts";
import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

/** What a claim marker tells; times as PostgreSQL's JSON writes them. */
export interface ClaimMarkerFacts {
  readonly number: number;
  readonly owner: string;
  readonly region: string;
  readonly fence: number;
  readonly grantedAt: string;
  readonly leaseExpiresAt: string;
  readonly attempt: number;
  readonly threshold: number;
  readonly previous: { readonly owner: string; readonly fence: number; readonly lapsed: boolean } | null;
}

/** What the outcome comment of a released claim tells. */
export interface ReleaseFacts {
  readonly number: number;
  readonly owner: string;
  readonly fence: number;
  readonly note: string | null;
}

/** Each has its urgency. */
type Ranked<T extends { readonly kind: EffectKind }> = T;

/** Something to do on GitHub. */
export type Effect = Ranked<
  | { readonly kind: "comment"; readonly body: string }
  /** The texts of these are made when they are posted: granting and releasing are one call to the database each. */
  | ({ readonly kind: "claim_marker" } & ClaimMarkerFacts)
  | ({ readonly kind: "release_outcome" } & ReleaseFacts)
  | { readonly kind: "add_label"; readonly label: string }
  | { readonly kind: "close_issue"; readonly reason: "completed" | "not_planned" }
  | { readonly kind: "reopen_issue" }
  /** Of the promise's issue; the other is named by GitHub's id, not by its number. */
  | { readonly kind: "add_sub_issue"; readonly subIssueId: number }
  | { readonly kind: "add_blocked_by"; readonly blockerId: number }
  /** Promised by triggers (migrations/0008); what it says is decided when it is written. */
  | { readonly kind: "check_run"; readonly pull: number }
  | {
      readonly kind: "create_label";
      readonly name: string;
      readonly color: string;
      readonly description: string;
    }
>;

export interface Promised {
  readonly repositoryId: number;
  readonly issueNumber: number | null;
  /** Names what is promised: while one is pending, a second of the same name is the same promise. */
  readonly promise: string;
  readonly effect: Effect;
}

export const claimPromise = (fence: number): string => `claim:${fence}`;
export const labelPromise = (number: number, label: string): string =>
  `label:${number}:${label.toLowerCase()}`;

export const subIssuePromise = (parent: number, subIssueId: number): string =>
  `sub_issue:${parent}:${subIssueId}`;
export const blockedByPromise = (blocked: number, blockerId: number): string =>
  `blocked_by:${blocked}:${blockerId}`;

/** Promises an effect, to be had after this transaction commits. */
export async function promise(trx: Trx, promised: Promised): Promise<void> {
  const { kind, ...payload } = promised.effect;
  await sql`
    insert into outbox (repository_id, issue_number, kind, promise, payload)
    values (${promised.repositoryId}, ${promised.issueNumber}, ${kind}, ${promised.promise}, ${JSON.stringify(payload)})
    on conflict (repository_id, promise) where state = 'pending' do nothing`.execute(trx);
}

/** What was promised is true already, or no longer wanted. */
export async function settlePromise(
  trx: Trx,
  repositoryId: number,
  name: string,
  why: string,
): Promise<void> {
  await trx
    .updateTable("outbox")
    .set({ state: "done", finished_at: dbNow, error: why })
    .where("repository_id", "=", repositoryId)
    .where("promise", "=", name)
    .where("state", "=", "pending")
    .execute();
}

/** Takes up again the labels of half parks: the tag says parked, but writing the label was given up. */
export async function retryPromisedLabels(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    update outbox o set state = 'pending', attempts = 0, next_try_at = db_now(), finished_at = null
    from item i, repository r
    where o.state = 'failed' and o.kind = 'add_label' and i.repository_id = o.repository_id
      and i.number = o.issue_number and i.state = 'parked' and r.id = o.repository_id and r.installed
      and lower(o.payload ->> 'label') = lower(coalesce(r.settings -> 'labels' ->> 'stale', 'stale'))
      and not exists (select 1 from outbox p where p.repository_id = o.repository_id
        and p.promise = o.promise and p.id > o.id)`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/**
 * Forgets what was kept two weeks ago, as the inbox forgets deliveries. Not if it was given up before under the same name:
 * then the row says that this is over.
 */
export async function prunePromises(db: Db): Promise<void> {
  await sql`
    delete from outbox o where o.state = 'done' and o.finished_at < db_now() - interval '14 days'
      and not exists (select 1 from outbox f where f.repository_id = o.repository_id and f.promise = o.promise
        and f.state = 'failed')`.execute(db);
}

/** Whether the last promise of that name is not known to be kept: pending, or given up. */
export async function isUnconfirmed(db: Db, repositoryId: number, name: string): Promise<boolean> {
  const row = await db
    .selectFrom("outbox")
    .select("state")
    .where("repository_id", "=", repositoryId)
    .where("promise", "=", name)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row !== undefined && row.state !== "done";
}
