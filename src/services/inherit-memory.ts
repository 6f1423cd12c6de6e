/**
 * A transferred item moves with its memory (protocol 1; github-cases 28). The old place and the new one are told of the
 * transfer apart, in either order: whoever comes second finds both, and what is done twice changes nothing more.
 */

import { SELF } from "../domain/comments.ts";
import type { Trx } from "../store/database.ts";
import { findItem } from "../store/items.ts";
import { type MovedItem, moveAttempts, movedFrom, moveRecord, noteInherited } from "../store/moved-memory.ts";
import { type ItemAt, parkItem } from "./item-changes.ts";

const PARKED_BEFORE = "It was parked before it was transferred, and a transfer does not unpark.";

/** Gives an item what it had where its issue was transferred from, if it was. The caller holds the record's lock. */
export async function inheritMemory(trx: Trx, at: ItemAt): Promise<void> {
  const to = { repositoryId: at.repository.id, number: at.number };
  const from = await movedFrom(trx, to);
  if (from === null || (await findItem(trx, to.repositoryId, to.number)) === null) return;
  await moveRecord(trx, from, to);
  await moveAttempts(trx, from, to);
  // Once: what a human decides at the new place is not taken back by news of the old one that comes late.
  if (from.parked && !from.inherited) await stayParked(trx, at, from);
  await noteInherited(trx, from);
}

async function stayParked(
  trx: Trx,
  at: ItemAt,
  { parkReason, rulingOwner, question }: MovedItem,
): Promise<void> {
  const item = await findItem(trx, at.repository.id, at.number);
  if (item?.state !== null) return;
  const reason = parkReason ? `${PARKED_BEFORE} Then it was: ${parkReason}` : PARKED_BEFORE;
  await parkItem(trx, at, { by: SELF, reason, rulingOwner, question, eventAt: null });
}
