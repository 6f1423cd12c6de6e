/** Every grant on a record, newest first, with how it ended. */

import type { ClaimHistory } from "../contract/claims.ts";
import { recordKey } from "../domain/record-key.ts";
import { listGrants } from "../store/claims.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import { cursorOf, readCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";

export async function claimHistory(
  deps: Deps,
  target: ClaimTarget,
  query: { cursor?: string | undefined; limit: number },
): Promise<ClaimHistory> {
  const before = readCursor(query.cursor, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  const grants = await listGrants(deps.db, refOf(target), before, query.limit + 1);
  const shown = grants.slice(0, query.limit);
  const last = shown.at(-1);
  return {
    key: recordKey(target.repository, target.topic, target.id),
    claims: shown.map((grant) => ({
      fencingToken: grant.fence,
      owner: grant.owner,
      region: grant.region,
      scope: grant.scope,
      grantedAt: grant.grantedAt.toISOString(),
      newAttempt: grant.newAttempt,
      previousFencingToken: grant.previousFence,
      ended: grant.ended,
      endedAt: grant.endedAt?.toISOString() ?? null,
      consumedCredentials: [...grant.consumed],
    })),
    nextCursor: grants.length > query.limit && last ? cursorOf(last.fence) : null,
  };
}
