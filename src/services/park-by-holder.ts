/** The holder parks the item: it cannot proceed as specified, and somebody has to rule (protocol 5). */

import type { ParkRequest } from "../contract/finishing.ts";
import type { ItemBody } from "../contract/items.ts";
import { Problem } from "../contract/problem.ts";
import { BACKLOG, itemId } from "../domain/record-key.ts";
import { findItem } from "../store/items.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { fencedWrite } from "./fenced-write.ts";
import { type ItemAt, parkItem } from "./item-changes.ts";
import { getItem, noItem } from "./read-items.ts";

/** Parking what is parked changes nothing. Throws `ruling_required`, `conflict` and the fence's refusals. */
export async function parkByHolder(
  deps: Deps,
  caller: Caller,
  at: ItemAt,
  token: number | null,
  request: ParkRequest,
): Promise<ItemBody> {
  const { repository, number } = at;
  const rulingOwner = request.rulingOwner?.trim();
  const question = request.question?.trim();
  if (!rulingOwner || !question) {
    throw new Problem(
      "ruling_required",
      "say who can decide (rulingOwner) and what they have to decide (question): nobody can unpark what nobody asked",
    );
  }
  const target = { repository, topic: BACKLOG, id: itemId(number) };
  const item = await fencedWrite(deps, caller, target, token, async (trx, holder) => {
    const before = await findItem(trx, repository.id, number);
    if (!before?.enrolled) throw noItem(repository, number);
    if (before.state === "complete" || before.state === "cancelled") {
      throw new Problem("conflict", `#${number} is ${before.state}: there is nothing to park`);
    }
    if (before.state === null) {
      await parkItem(trx, at, {
        by: holder?.owner ?? caller.actor,
        reason: request.reason,
        rulingOwner,
        question,
        eventAt: null,
      });
    }
    return getItem({ ...deps, db: trx }, repository, number, caller);
  });
  deps.wake.outbox();
  return item;
}
