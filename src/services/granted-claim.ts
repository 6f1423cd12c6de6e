/** What a caller is told of a claim that was granted. */

import type { ClaimAnswer } from "../contract/claims.ts";
import { RadiusIndex } from "../domain/blast-radius.ts";
import { workingBranch } from "../domain/branch-names.ts";
import { numberOfRef, recordKey } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import { tagValue } from "../domain/tags.ts";
import type { Db } from "../store/database.ts";
import { branchOfIntegrated } from "../store/groupings.ts";
import { radiiInFlight } from "../store/radii.ts";
import type { Repository } from "../store/repositories.ts";
import type { ClaimCall, ClaimGrantedRow, TakenResource } from "../store/take-claim.ts";
import type { ClaimTarget } from "./claim.ts";
import type { Deps } from "./deps.ts";
import { resumePack } from "./resume-pack.ts";
import { onlySeen } from "./sight.ts";

export type Granted = Extract<ClaimAnswer, { granted: true }>;

export async function granted(
  deps: Deps,
  view: View,
  target: ClaimTarget,
  call: Pick<ClaimCall, "owner" | "region" | "scope" | "leaseSeconds">,
  answer: ClaimGrantedRow,
): Promise<Granted> {
  const { previous } = answer;
  const number = numberOfRef(target);
  return {
    granted: true,
    key: recordKey(target.repository, target.topic, target.id),
    owner: call.owner,
    region: call.region,
    scope: call.scope,
    fencingToken: answer.fence,
    leaseSeconds: call.leaseSeconds,
    leaseExpiresAt: new Date(answer.leaseExpiresAt).toISOString(),
    attempt: answer.attempt,
    custodyChanged: answer.newAttempt,
    previous: previous && { owner: previous.owner, fencingToken: previous.fence, lapsed: previous.lapsed },
    title: answer.title,
    ...(number === null ? {} : await itemPart(deps, view, target, number, answer)),
  };
}

async function itemPart(
  deps: Deps,
  view: View,
  { repository }: ClaimTarget,
  number: number,
  { tags, url, previous, ownPull, anchored, resources }: ClaimGrantedRow,
) {
  const type = tagValue(tags ?? [], "type:") ?? repository.settings.defaults.type;
  const baseBranch = tagValue(tags ?? [], "baseBranch:");
  const isIntegration = tagValue(tags ?? [], "phase:") === "integration";
  // Only an integration item costs a second look.
  const integrated = isIntegration ? await branchOfIntegrated(deps.db, repository.id, number) : null;
  return {
    number,
    baseBranch,
    workingBranch: integrated ?? workingBranch({ number, type, epicBranch: baseBranch }),
    // Who takes what nobody had has nothing to read up on: the common grant is one call to the database.
    resume: previous === null && !ownPull ? null : await resumePack(deps.db, repository, number),
    overlaps:
      anchored || repository.settings.requireAnchors
        ? await onlySeen(deps.db, view, repository.id, await overlaps(deps.db, repository, number))
        : [],
    resources: (resources ?? []).map(takenBody),
    url,
  };
}

const takenBody = ({ key, mode, expiresAt }: TakenResource) => ({
  key,
  mode,
  expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
});

/** The items in flight whose blast radius meets that of this one, which is in flight itself (protocol 6, step 11). */
async function overlaps(db: Db, repository: Repository, number: number): Promise<number[]> {
  const inFlight = await radiiInFlight(db, repository.id, repository.settings);
  const own = inFlight.find((item) => item.number === number);
  return own ? new RadiusIndex(inFlight).meets(own) : [];
}
