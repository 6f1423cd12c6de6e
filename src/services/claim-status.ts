/** What can be seen of a claim. Advisory: only a grant or a renewal decides anything (protocol 4). */

import type { ClaimStatus } from "../contract/claims.ts";
import { isHeld } from "../domain/lease.ts";
import { recordKey } from "../domain/record-key.ts";
import { queueDepth } from "../store/claim-line.ts";
import { findClaim } from "../store/claims.ts";
import { findRecord } from "../store/records.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import type { Deps } from "./deps.ts";

export async function claimStatus(deps: Deps, target: ClaimTarget): Promise<ClaimStatus> {
  const ref = refOf(target);
  const [record, found, depth] = await Promise.all([
    findRecord(deps.db, ref),
    findClaim(deps.db, ref),
    queueDepth(deps.db, ref),
  ]);
  const claim = found?.claim ?? null;
  return {
    key: recordKey(target.repository, target.topic, target.id),
    exists: record !== null,
    claimed: claim?.live ?? false,
    isHeld: found !== null && isHeld(found.claim, found.now),
    owner: claim?.owner ?? null,
    region: claim?.region ?? null,
    scope: claim?.scope ?? null,
    fencingToken: claim?.fence ?? null,
    leaseExpiresAt: claim?.leaseExpiresAt.toISOString() ?? null,
    releasedAt: claim?.releasedAt?.toISOString() ?? null,
    queueDepth: depth,
    grants: claim?.grants ?? 0,
    authoritative: false,
  };
}
