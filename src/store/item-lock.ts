/** The lock of an item whose end may bring about that of its epic. */

import { sql } from "kysely";
import { itemRef } from "../domain/record-key.ts";
import type { Trx } from "./database.ts";
import { lockRecord } from "./records.ts";

/** An integration item completes its epic, whose lock comes first: ancestors from the root down (protocol 4). */
export async function lockItem(trx: Trx, repositoryId: number, number: number): Promise<void> {
  const row = await trx
    .selectFrom("item")
    .select("integrates")
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .executeTakeFirst();
  if (row?.integrates) await lockRecord(trx, itemRef(repositoryId, row.integrates));
  await lockRecord(trx, itemRef(repositoryId, number));
}

/**
 * The locks of several items, as `lockItem` takes one: from the root down, so that nobody waits in a circle. Numbers
 * that are no items yet are locked too, for they may be becoming some.
 */
export async function lockItems(trx: Trx, repositoryId: number, numbers: readonly number[]): Promise<void> {
  if (numbers.length === 0) return;
  const { rows } = await sql<{ number: number }>`
    with wanted (number) as (
      select n from unnest(${[...numbers]}::int[]) n
      union select i.integrates from item i
        where i.repository_id = ${repositoryId} and i.number = any (${[...numbers]}::int[]) and i.integrates is not null)
    select w.number from wanted w
    left join item i on i.repository_id = ${repositoryId} and i.number = w.number
    order by cardinality(coalesce(i.ancestors, '{}')), w.number`.execute(trx);
  for (const { number } of rows) await lockRecord(trx, itemRef(repositoryId, number));
}

/**
 * The lock of a pull request, which comes before those of the items it may belong to: who records it and who hears of
 * it first must not overlook each other. No topic has a blank in its name.
 */
export async function lockPull(trx: Trx, repositoryId: number, pull: number): Promise<void> {
  await lockRecord(trx, { repositoryId, topic: "pull request", id: String(pull) });
}

/** The same for a branch that a pull request comes from, and that an item may record: it comes before the pull request's. */
export async function lockHead(trx: Trx, repositoryId: number, branch: string): Promise<void> {
  await lockRecord(trx, { repositoryId, topic: "head branch", id: branch });
}
