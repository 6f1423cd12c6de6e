/** Takes a claim (protocol 4): one transaction under the record's lock; losing is an answer. */

import type { ClaimAnswer, ClaimRequest } from "../contract/claims.ts";
import { workingBranch } from "../domain/branch-names.ts";
import {
  type Claimant,
  type ClaimDecision,
  decideItemClaim,
  decideRecordClaim,
} from "../domain/claim-decision.ts";
import { claimComment } from "../domain/comments.ts";
import { clampLease } from "../domain/lease.ts";
import { numberOfRef, type RecordRef, recordKey } from "../domain/record-key.ts";
import { tagValue } from "../domain/tags.ts";
import { findClaim, insertGrant } from "../store/claims.ts";
import { databaseNow } from "../store/clock.ts";
import type { Trx } from "../store/database.ts";
import { findItemView, type ItemView } from "../store/item-facts.ts";
import { claimPromise, promise } from "../store/outbox.ts";
import { findRecord, lockRecord } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";

export interface ClaimTarget {
  readonly repository: Repository;
  readonly topic: string;
  readonly id: string;
}

export const refOf = ({ repository, topic, id }: ClaimTarget): RecordRef => ({
  repositoryId: repository.id,
  topic,
  id,
});

/** Grants the claim or says why not. The marker is promised in the same transaction. */
export async function claim(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  request: ClaimRequest,
): Promise<ClaimAnswer> {
  const claimant: Claimant = {
    owner: request.owner,
    actor: caller.actor,
    region: request.region ?? deps.region,
  };
  const answer = await deps.db.transaction().execute(async (trx) => {
    await lockRecord(trx, refOf(target));
    const number = numberOfRef(target);
    if (number !== null) return claimItem(trx, deps, target, claimant, number, request);
    return claimRecord(trx, deps, target, claimant, request);
  });
  if (answer.granted) deps.wake.outbox();
  return answer;
}

async function claimItem(
  trx: Trx,
  deps: Deps,
  target: ClaimTarget,
  claimant: Claimant,
  number: number,
  request: ClaimRequest,
): Promise<ClaimAnswer> {
  const { repository } = target;
  const threshold = repository.settings.poisonThreshold;
  const found = await findItemView(trx, repository.id, number, threshold);
  const item = found?.item ?? null;
  const decision = decideItemClaim(item?.facts ?? null, claimant, deps.region, found?.now ?? new Date(0));
  if (item === null || !decision.granted) return refusal(target, decision);

  const granted = await grant(trx, deps, target, claimant, decision, request);
  const attempt = item.attempts.count + (decision.newAttempt ? 1 : 0);
  if (decision.newAttempt && repository.installationId !== null) {
    const news = {
      number,
      owner: claimant.owner,
      region: claimant.region,
      fence: granted.fencingToken,
      grantedAt: granted.grantedAt,
      leaseExpiresAt: new Date(granted.leaseExpiresAt),
      attempt,
      threshold,
      previous: decision.previous,
    };
    await promise(trx, {
      repositoryId: repository.id,
      issueNumber: number,
      promise: claimPromise(granted.fencingToken),
      effect: { kind: "comment", body: claimComment(news) },
    });
  }
  return { ...withoutTimes(granted), attempt, ...itemPart(item, repository) };
}

async function claimRecord(
  trx: Trx,
  deps: Deps,
  target: ClaimTarget,
  claimant: Claimant,
  request: ClaimRequest,
): Promise<ClaimAnswer> {
  const ref = refOf(target);
  const record = await findRecord(trx, ref);
  const found = await findClaim(trx, ref);
  const now = found?.now ?? (await databaseNow(trx));
  const facts = { exists: record !== null, claim: found?.claim ?? null };
  const decision = decideRecordClaim(facts, claimant, deps.region, now);
  if (!decision.granted) return refusal(target, decision);
  const granted = await grant(trx, deps, target, claimant, decision, request);
  return { ...withoutTimes(granted), attempt: granted.grants, title: record?.title ?? null };
}

function refusal(target: ClaimTarget, decision: ClaimDecision): ClaimAnswer {
  if (decision.granted) throw new Error("a grant is not a refusal");
  return {
    granted: false,
    key: recordKey(target.repository, target.topic, target.id),
    reason: decision.reason,
    blockers: [...decision.blockers],
    ...(decision.retryAfterMs === null ? {} : { retryAfterMs: decision.retryAfterMs }),
  };
}

async function grant(
  trx: Trx,
  deps: Deps,
  target: ClaimTarget,
  claimant: Claimant,
  decision: Extract<ClaimDecision, { granted: true }>,
  request: ClaimRequest,
) {
  const leaseSeconds = clampLease(request.leaseSeconds, deps.lease);
  const granted = await insertGrant(trx, refOf(target), {
    ...claimant,
    scope: request.scope ?? "item",
    leaseSeconds,
    newAttempt: decision.newAttempt,
  });
  return {
    granted: true as const,
    key: recordKey(target.repository, target.topic, target.id),
    owner: claimant.owner,
    region: claimant.region,
    scope: request.scope ?? "item",
    fencingToken: granted.fence,
    leaseSeconds,
    leaseExpiresAt: granted.leaseExpiresAt.toISOString(),
    custodyChanged: decision.newAttempt,
    previous: decision.previous && {
      owner: decision.previous.owner,
      fencingToken: decision.previous.fence,
      lapsed: decision.previous.lapsed,
    },
    grantedAt: granted.grantedAt,
    grants: granted.grants,
  };
}

function withoutTimes({ grantedAt: _, grants: __, ...granted }: Awaited<ReturnType<typeof grant>>) {
  return granted;
}

function itemPart(item: ItemView, repository: Repository) {
  const { tags, number } = item.facts;
  const type = tagValue(tags, "type:") ?? repository.settings.defaults.type;
  return {
    number,
    baseBranch: tagValue(tags, "baseBranch:"),
    workingBranch: workingBranch({ number, type }),
    title: item.title,
    url: item.url,
  };
}
