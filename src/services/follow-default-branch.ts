/**
 * Items based on the default branch follow it when another becomes the default (github-cases 68): their pull
 * requests do, too. Nothing completes by that.
 */

import { itemRef } from "../domain/record-key.ts";
import { withTag } from "../domain/tags.ts";
import { itemsBasedOn } from "../store/items.ts";
import { findRecord, lockRecord, setRecordTags } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";

const BASE = "baseBranch:";

/** One item at a time, so that no claim waits for all of them. Doing it again, after a crash say, goes on. */
export async function followDefaultBranch(
  deps: Deps,
  { id, defaultBranch: from }: Repository,
  to: string | null,
): Promise<void> {
  if (to === null || to === from) return;
  for (const number of await itemsBasedOn(deps.db, id, from)) {
    const ref = itemRef(id, number);
    await deps.db.transaction().execute(async (trx) => {
      await lockRecord(trx, ref);
      const tags = (await findRecord(trx, ref))?.tags ?? [];
      if (!tags.includes(BASE + from)) return;
      await setRecordTags(trx, ref, withTag(tags, BASE, [to]));
    });
  }
}
