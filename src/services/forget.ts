/** Forgets a memory record, now or after a while. The fence's mark outlives it (protocol 2). */

import type { ForgetAnswer } from "../contract/memory.ts";
import { Problem } from "../contract/problem.ts";
import { BACKLOG, recordKey } from "../domain/record-key.ts";
import { inTransaction } from "../store/database.ts";
import { removeExpired } from "../store/memory-lists.ts";
import { deleteRecord, findRecord, lapseRecord } from "../store/records.ts";
import type { Caller } from "./caller.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import type { Deps } from "./deps.ts";
import { fencedWrite } from "./fenced-write.ts";

/** Removed in one transaction: few, so that nobody waits long for what removing their links locks. */
const BATCH = 200;

/** Removes what has expired, for nobody can read it any more. Answers how many records. */
export async function forgetExpired(deps: Deps): Promise<number> {
  for (let removed = 0; ; ) {
    const batch = await inTransaction(deps.db, (trx) => removeExpired(trx, BATCH));
    removed += batch;
    if (batch < BATCH) return removed;
  }
}

export async function forget(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  token: number | null,
  lapseSeconds: number | null,
): Promise<ForgetAnswer> {
  if (target.topic === BACKLOG) {
    throw new Problem(
      "reserved",
      "an item lives as long as its issue: close the issue, or take the backlog label off",
    );
  }
  const key = recordKey(target.repository, target.topic, target.id);
  return fencedWrite(deps, caller, target, token, async (trx) => {
    const ref = refOf(target);
    const record = await findRecord(trx, ref);
    if (!record) return { key, forgotten: false, expiresAt: null };
    if (lapseSeconds === null || lapseSeconds === 0) {
      await deleteRecord(trx, ref, caller.actor);
      return { key, forgotten: true, expiresAt: null };
    }
    if (record.kind === "Report") {
      throw new Problem(
        "ttl_forbidden",
        "a Report carries no TTL: forget it now, without lapseSeconds, or keep it",
      );
    }
    await lapseRecord(trx, ref, { seconds: lapseSeconds, actor: caller.actor });
    const lapsing = await findRecord(trx, ref);
    return { key, forgotten: false, expiresAt: lapsing?.expiresAt?.toISOString() ?? null };
  });
}
