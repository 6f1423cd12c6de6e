/** A grant that reaches nobody is taken back: it is no attempt (protocol 4, "The line"). */

import type { RecordRef } from "../domain/record-key.ts";
import { takeBackGrant } from "../store/claim-line.ts";
import { type Db, inTransaction } from "../store/database.ts";
import { dropAnswersOf } from "../store/kept-answers.ts";
import { lockRecord } from "../store/records.ts";

/** Takes the grant back if it is still current; asked for again under its key, it is made anew. The claim's end wakes the line by itself. */
export const takeBack = (db: Db, ref: RecordRef, fence: number): Promise<boolean> =>
  inTransaction(db, async (trx) => {
    await lockRecord(trx, ref);
    await dropAnswersOf(trx, { ref, fence });
    return takeBackGrant(trx, ref, fence);
  });
