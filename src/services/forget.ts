/** Forgets a memory record, now or after a while. The fence's mark outlives it (protocol 2). */

import type { ForgetAnswer } from "../contract/memory.ts";
import { Problem } from "../contract/problem.ts";
import { BACKLOG, recordKey } from "../domain/record-key.ts";
import { deleteRecord, findRecord, lapseRecord } from "../store/records.ts";
import type { Caller } from "./caller.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import type { Deps } from "./deps.ts";
import { fencedWrite } from "./fenced-write.ts";

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
      await deleteRecord(trx, ref);
      return { key, forgotten: true, expiresAt: null };
    }
    if (record.kind === "Report") {
      throw new Problem(
        "ttl_forbidden",
        "a Report carries no TTL: forget it now, without lapseSeconds, or keep it",
      );
    }
    await lapseRecord(trx, ref, lapseSeconds);
    const lapsing = await findRecord(trx, ref);
    return { key, forgotten: false, expiresAt: lapsing?.expiresAt?.toISOString() ?? null };
  });
}
