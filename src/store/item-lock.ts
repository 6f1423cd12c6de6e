/** The lock of an item whose end may bring about that of its epic. */

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
