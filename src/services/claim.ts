/** Takes a claim (protocol 4): one call to the database; losing is an answer; who wants to wait gets in line. */

import type { ClaimAnswer, ClaimRequest } from "../contract/claims.ts";
import { Problem } from "../contract/problem.ts";
import { clampLease } from "../domain/lease.ts";
import { numberOfRef, type RecordRef, recordKey } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import { releaseMarker } from "../store/claim-line.ts";
import type { Repository } from "../store/repositories.ts";
import {
  type ClaimCall,
  type ClaimGrantedRow,
  type ClaimRefusedRow,
  type ClaimRow,
  takeClaim,
} from "../store/take-claim.ts";
import type { Caller } from "./caller.ts";
import { checkAtOnce } from "./check-items.ts";
import type { LineAnswer } from "./claim-line.ts";
import type { Deps } from "./deps.ts";
import { granted } from "./granted-claim.ts";
import type { Once } from "./once.ts";
import { onlySeen } from "./sight.ts";
import { takeBack } from "./take-back.ts";

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

/** The caller's end of the connection. */
export interface Delivery {
  /** Aborted when the caller has hung up. */
  readonly left: AbortSignal;
  /** Told once whether the answer reached the caller. */
  onOutcome(handler: (delivered: boolean) => void): void;
}

/**
 * Long enough to see whether the answer was delivered before the marker goes out. Who did not wait is hardly ever gone
 * so soon: there the marker is due at once, and should it have gone out, the grant that is taken back counts.
 */
const MARK_AFTER_SECONDS = 2;

/**
 * Grants the claim or says why not. The marker is promised with the grant; under `once`, so is the answer. With a
 * `delivery`, a grant that does not reach its caller is taken back; without one nobody can wait.
 */
export async function claim(...asked: Parameters<typeof takeOrWait>): Promise<ClaimAnswer> {
  return counted(asked[0], await takeOrWait(...asked));
}

/** In the metrics. */
export function counted<T extends ClaimAnswer>({ metrics }: Deps, answer: T): T {
  metrics.claimed(answer.granted ? "granted" : answer.reason);
  if (answer.granted && answer.previous?.lapsed)
    metrics.reclaimed(answer.previous.owner === answer.owner ? "same_owner" : "other");
  return answer;
}

async function takeOrWait(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  request: ClaimRequest,
  delivery: Delivery | null = null,
  once: Once | null = null,
): Promise<ClaimAnswer> {
  const waitSeconds = request.maxWaitSeconds ?? 0;
  const wait = waitSeconds > 0 && delivery !== null;
  const call: ClaimCall = {
    ref: refOf(target),
    owner: request.owner,
    actor: caller.actor,
    region: request.region ?? deps.region,
    deploymentRegion: deps.region,
    leaseSeconds: clampLease(request.leaseSeconds, deps.lease),
    scope: request.scope ?? "item",
    takeover: request.takeover ?? false,
    wait,
    ticket: null,
    replica: deps.replica,
    markAfterSeconds: 0,
  };
  const attempt = new Attempt(deps, caller, target, once);
  const first = await attempt.take(call);
  // A defect may be mended already, and nobody has looked since.
  const answer = (await isMended(deps, target, first)) ? await attempt.take(call) : first;
  if (answer.granted) {
    promised(deps, call.ref, answer.fence, delivery, once);
    return attempt.granted(call, answer);
  }
  if (answer.ticket == null || delivery === null) return refused(deps, caller, target, answer);
  const waiting = { ...call, wait: false, ticket: answer.ticket, markAfterSeconds: MARK_AFTER_SECONDS };
  return awaitTurn(deps, caller, target, attempt, waiting, waitSeconds * 1000, delivery);
}

/** The marker may go out at once, unless the answer is lost on its way. Under an idempotency key it is kept, and asked for again. */
export function promised(
  deps: Deps,
  ref: RecordRef,
  fence: number,
  delivery: Delivery | null,
  once: Once | null,
): void {
  if (delivery === null || once !== null) deps.wake.outbox();
  else onDelivery(deps, ref, fence, delivery, async () => deps.wake.outbox());
}

async function isMended({ db }: Deps, target: ClaimTarget, answer: ClaimRow): Promise<boolean> {
  const number = numberOfRef(target);
  if (answer.granted || !answer.flawed || number === null) return false;
  return checkAtOnce(db, { repositoryId: target.repository.id, number });
}

/** A caller's tries at one claim. Under an idempotency key the answer is made where it is kept, in the grant's transaction. */
class Attempt {
  readonly #deps: Deps;
  readonly #view: View;
  readonly #target: ClaimTarget;
  readonly #once: Once | null;
  #kept: ClaimAnswer | null = null;

  constructor(deps: Deps, view: View, target: ClaimTarget, once: Once | null) {
    this.#deps = deps;
    this.#view = view;
    this.#target = target;
    this.#once = once;
  }

  async take(call: ClaimCall): Promise<ClaimRow> {
    const stale = await this.#staleMirror();
    if (stale !== null) return stale;
    if (this.#once === null) return takeClaim(this.#deps.db, call);
    return this.#once.run<ClaimRow>(async (inside) => {
      const row = await takeClaim(inside.db, call);
      if (!row.granted) return { result: row, kept: null };
      const answer = await granted(inside, this.#view, this.#target, call, row);
      this.#kept = answer;
      return { result: row, kept: { status: 200, answer, grant: { ref: call.ref, fence: row.fence } } };
    });
  }

  /** Also when a waiter's turn comes: while it waited GitHub may have fallen silent. Memory has no mirror. */
  async #staleMirror(): Promise<ClaimRefusedRow | null> {
    if (numberOfRef(this.#target) === null) return null;
    const detail = await this.#deps.mirrors.refusal(this.#target.repository, this.#deps.db);
    if (detail === null) return null;
    // What was granted before is answered again.
    await this.#once?.assertNew();
    return {
      granted: false,
      reason: "mirror_stale",
      detail,
      retryAfterMs: null,
      blockers: [],
      flawed: null,
      contendedResources: null,
    };
  }

  async granted(call: ClaimCall, row: ClaimGrantedRow): Promise<ClaimAnswer> {
    return this.#kept ?? granted(this.#deps, this.#view, this.#target, call, row);
  }
}

async function awaitTurn(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  attempt: Attempt,
  call: ClaimCall & { ticket: number },
  maxWaitMs: number,
  delivery: Delivery,
): Promise<ClaimAnswer> {
  const take = () => attempt.take(call);
  const ended = deps.watch.onEnd(caller);
  const left = AbortSignal.any([delivery.left, ended]);
  const answer = await deps.line.wait({ ref: call.ref, ticket: call.ticket, take }, maxWaitMs, left);
  if (answer === "gone" && ended.aborted)
    throw new Problem(
      "unauthenticated",
      "this token was revoked or has expired while its caller waited in line",
    );
  if (answer === "gone") return refused(deps, caller, target, { granted: false, reason: "timeout" });
  if (!answer.granted) return refused(deps, caller, target, answer);
  onDelivery(deps, call.ref, answer.fence, delivery, async () => {
    await releaseMarker(deps.db, call.ref, answer.fence);
    deps.wake.outbox();
  });
  return attempt.granted(call, answer);
}

/** When it is known whether the answer reached the caller: the marker may go out, or the grant is taken back. */
function onDelivery(
  deps: Deps,
  ref: RecordRef,
  fence: number,
  delivery: Delivery,
  delivered: () => Promise<void>,
): void {
  delivery.onOutcome((reached) => {
    const settled = reached ? delivered() : takeBack(deps.db, ref, fence);
    // Neither is vital: an undelivered grant lapses, and its marker goes out a little later.
    settled.catch((error: unknown) => deps.log.warn({ err: error }, "a claim's delivery could not be noted"));
  });
}

type Refused = Exclude<LineAnswer, { granted: true }>;

/** What it is blocked by is named as far as the caller may see it. */
async function refused({ db }: Deps, view: View, target: ClaimTarget, answer: Refused): Promise<ClaimAnswer> {
  const blockers = "blockers" in answer ? answer.blockers : [];
  const retryAfterMs = "retryAfterMs" in answer ? answer.retryAfterMs : null;
  const seen = await onlySeen(db, view, target.repository.id, blockers);
  const isUnnamed = answer.reason === "blocked" && seen.length === 0;
  return {
    granted: false,
    key: recordKey(target.repository, target.topic, target.id),
    reason: answer.reason,
    blockers: seen,
    ...(isUnnamed ? { detail: UNNAMED } : {}),
    ...("detail" in answer && answer.detail ? { detail: answer.detail } : {}),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    ...contention(answer),
    ...("flawed" in answer && answer.flawed ? { detail: FLAWED } : {}),
  };
}

const UNNAMED =
  "what blocks it is no item of this repository that may be named: another repository's, or a hold; its reasons say more";

const FLAWED =
  "a defect takes the item out of the ready set: its defects and reasons say which, and what to do";

/** Waiting helps, and who holds what is in the way is nobody's business. */
const contention = (answer: Refused) =>
  "contendedResources" in answer && answer.contendedResources
    ? {
        errorKind: "transient" as const,
        errorCode: "resource_unavailable" as const,
        contendedResources: [...answer.contendedResources],
      }
    : {};
