/**
 * Goes on with groupings that were begun and left: their process died, or GitHub did not confirm a step, and nobody sent
 * the request again. What was asked for and how far it came is kept; so no issue is opened twice (`open-issue.ts`).
 */

import { GroupingAnswer, GroupingRequest } from "../contract/authoring.ts";
import {
  endAuthoring,
  type LeftGrouping,
  MOST_TRIES,
  slotsOf,
  takeAuthoring,
  takeLeftGrouping,
} from "../store/authoring.ts";
import { inTransaction } from "../store/database.ts";
import { findIssue } from "../store/mirror.ts";
import { findRepositoryById } from "../store/repositories.ts";
import { answerKeyOf, assertWritable, workerName, workOn } from "./authoring.ts";
import { acceptedBefore, EPIC, makeGrouping } from "./create-grouping.ts";
import type { Deps } from "./deps.ts";
import { Once } from "./once.ts";

/** Each that is due gets one try; the next comes later, and at some time no more (`MOST_TRIES`). */
export async function continueGroupings(deps: Deps, stopping: AbortSignal): Promise<void> {
  while (deps.github.app !== null && deps.github.isUsable && !stopping.aborted) {
    const worker = workerName(deps);
    const left = await takeLeftGrouping(deps.db, worker);
    if (left === null) return;
    const { repositoryId, branch, tries } = left;
    try {
      await goOn(deps, left, worker);
      deps.log.info({ repositoryId, branch }, "a grouping that was left half made was gone on with");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const next =
        tries < MOST_TRIES
          ? "it is tried again later"
          : "it is not tried again: send its request again, or close its epic to give it up";
      deps.log.warn({ repositoryId, branch, tries, reason }, `a grouping is still half made; ${next}`);
    }
  }
}

async function goOn(deps: Deps, left: LeftGrouping, worker: string): Promise<void> {
  const { repositoryId, id, actor, requestKey, answerFingerprint, branch, view } = left;
  const repository = await findRepositoryById(deps.db, repositoryId);
  if (repository === null) throw new Error("its repository is not known any more");
  if (await isGivenUp(deps, left)) {
    await inTransaction(deps.db, async (trx) => {
      if (await takeAuthoring(trx, { repositoryId, id, worker })) await endAuthoring(trx, repositoryId, id);
    });
    return;
  }
  const installationId = await assertWritable(deps, repository);
  const request = GroupingRequest.parse(left.request);
  // Whoever sends it again is answered as if they had waited.
  const once = new Once(
    deps,
    { actor, key: answerKeyOf(requestKey), fingerprint: answerFingerprint },
    (_, answer) => JSON.stringify(GroupingAnswer.parse(answer)),
  );
  await workOn(deps, { repository, installationId, id, worker }, (scene, slots) =>
    makeGrouping(deps, scene, slots, { request, ...acceptedBefore(repository, request), branch, view, once }),
  );
}

/** A person closed its epic: so it is given up. */
async function isGivenUp(deps: Deps, { repositoryId, id }: LeftGrouping): Promise<boolean> {
  const slots = await slotsOf(deps.db, repositoryId, id);
  const epic = slots.find(({ ref }) => ref === EPIC)?.number ?? null;
  const mirrored = epic === null ? null : await findIssue(deps.db, repositoryId, epic);
  return mirrored !== null && (mirrored.gone !== null || !mirrored.issue.open);
}
