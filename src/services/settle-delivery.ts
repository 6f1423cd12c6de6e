/** A delivery's effect and its end are one transaction, so that it happens once (github-cases 1). */

import type { Trx } from "../store/database.ts";
import { finishDelivery, lockDelivery } from "../store/inbox.ts";
import type { Deps } from "./deps.ts";

/** What was asked of GitHub no longer fits what is stored; the delivery is tried again. */
export class ChangedMeanwhile extends Error {
  constructor() {
    super("what is known changed while GitHub was being asked");
    this.name = "ChangedMeanwhile";
  }
}

/** Runs the effect of a delivery, unless it was had before, and marks the delivery as done. */
export async function settleDelivery(
  deps: Deps,
  seq: number,
  effect: (trx: Trx) => Promise<void>,
): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    if (!(await lockDelivery(trx, seq))) return;
    await effect(trx);
    await finishDelivery(trx, seq);
  });
  deps.wake.outbox();
}
