/** Moves an item by a trigger (protocol 9, "Roles, advance"): for orchestrators, which hold no flag that outlives them. */

import type {
  AdvanceManyAnswer,
  AdvanceManyRequest,
  AdvanceRequest,
  AdvanceResult,
} from "../contract/finishing.ts";
import { Problem } from "../contract/problem.ts";
import { OWNER_PATTERN } from "../domain/owner.ts";
import { BACKLOG, itemId, itemRef } from "../domain/record-key.ts";
import { inTransaction } from "../store/database.ts";
import type { Repository } from "../store/repositories.ts";
import type { Caller } from "./caller.ts";
import { currentRole } from "./changing-role.ts";
import { claim } from "./claim.ts";
import { completeUnderFence } from "./complete-by-holder.ts";
import type { Deps } from "./deps.ts";
import { gatherEvidence } from "./gather-evidence.ts";
import type { ItemAt } from "./item-changes.ts";
import { cancel, hold, type Move, ResourceUnavailable, reopen, startBelow, unhold } from "./move-item.ts";
import { type Once, Replayed, runOnce, type Superseded } from "./once.ts";
import { noItem } from "./read-items.ts";
import { assertRecordSeen } from "./sight.ts";

type Transition = AdvanceRequest & { readonly fencingToken?: number | undefined };

/** One transition, under the caller's key once. A refused claim is an answer; what the fence or the rules refuse is thrown. */
export async function advance(
  deps: Deps,
  caller: Caller,
  at: ItemAt,
  transition: Transition,
  once: Once | null,
): Promise<AdvanceResult> {
  if (transition.trigger === "complete") return complete(deps, caller, at, transition, once);
  if (once === null) return move(deps, caller, at, transition);
  const keeping = once.run(async (inside) => {
    const result = await move(inside, caller, at, transition);
    const { fencingToken } = result;
    const ref = itemRef(at.repository.id, at.number);
    const grant = fencingToken === undefined ? null : { ref, fence: fencingToken };
    return { result, kept: result.applied ? { status: 200, answer: result, grant } : null };
  });
  return keeping.catch(answerOfNotResumed);
}

/** In place of the answer to a start that granted a claim which has ended since. */
export const supersededStart: Superseded = (kept) => {
  const { number, trigger } = JSON.parse(kept) as AdvanceResult;
  return {
    number,
    trigger,
    applied: false,
    role: null,
    error: "the claim that this key granted has ended; use a new key to begin anew",
    errorKind: "permanent",
    errorCode: "superseded",
  };
};

/** GitHub is asked for evidence before the transaction begins. */
async function complete(
  deps: Deps,
  caller: Caller,
  at: ItemAt,
  transition: Transition,
  once: Once | null,
): Promise<AdvanceResult> {
  await once?.assertNew();
  const evidence = await gatherEvidence(deps, caller, at, transition);
  return runOnce(once, deps, async (inside) => {
    const token = transition.fencingToken ?? null;
    const { role } = await completeUnderFence(inside, caller, at, token, evidence, undefined);
    inside.wake.outbox();
    return { number: at.number, trigger: transition.trigger, applied: true, role };
  });
}

async function move(deps: Deps, caller: Caller, at: ItemAt, transition: Transition): Promise<AdvanceResult> {
  const { number } = at;
  const { trigger, summary = null } = transition;
  const moved = async (by: Move): Promise<AdvanceResult> => {
    const role = await by(deps, caller, at, transition.fencingToken ?? null, summary);
    deps.wake.outbox();
    return { number, trigger, applied: true, role };
  };
  switch (trigger) {
    case "start":
      return start(deps, caller, at, transition);
    case "resume":
      return resume(deps, caller, at, transition);
    case "complete":
      throw new Error("what completes an item asks GitHub first");
    case "hold":
      return moved(hold);
    case "cancel":
      return moved(cancel);
    case "reopen":
      return moved(reopen);
  }
}

/** Several, each by itself, in the order given; under the caller's key each of them once. */
export async function advanceMany(
  deps: Deps,
  caller: Caller,
  repository: Repository,
  { transitions }: AdvanceManyRequest,
  once: Once | null,
): Promise<AdvanceManyAnswer> {
  // Before anything is done of a request that the key was not sent with first.
  for (const index of transitions.keys()) await once?.part(index).assertSame();
  const results: AdvanceResult[] = [];
  for (const [index, transition] of transitions.entries()) {
    const { number, trigger } = transition;
    try {
      await assertRecordSeen(deps.db, caller, itemRef(repository.id, number));
      results.push(
        await advance(deps, caller, { repository, number }, transition, once?.part(index) ?? null),
      );
    } catch (error) {
      if (error instanceof Replayed) results.push(JSON.parse(error.body));
      else if (error instanceof Problem && error.code !== "idempotency_mismatch")
        results.push({ number, trigger, applied: false, role: null, ...failure(error) });
      else throw error;
    }
  }
  const succeeded = results.filter(({ applied }) => applied).length;
  return { results, summary: { total: results.length, succeeded, failed: results.length - succeeded } };
}

const failure = (problem: Problem) => ({
  error: problem.message,
  errorKind: problem.retryAfterMs === null ? ("permanent" as const) : ("transient" as const),
  errorCode: problem.code,
  ...(problem.retryAfterMs === null ? {} : { retryAfterMs: problem.retryAfterMs }),
});

/** Under the item's own token, or its epic's, work goes on; else the caller takes a claim. */
async function start(deps: Deps, caller: Caller, at: ItemAt, transition: Transition): Promise<AdvanceResult> {
  const { repository, number } = at;
  const { trigger, fencingToken } = transition;
  if (fencingToken !== undefined) return startUnder(deps, caller, at, transition, fencingToken);
  const target = { repository, topic: BACKLOG, id: itemId(number) };
  const owner = transition.owner ?? ownName(caller);
  const { leaseSeconds } = transition;
  const answer = await claim(deps, caller, target, { owner, leaseSeconds });
  if (!answer.granted && answer.reason === "missing") throw noItem(repository, number);
  if (!answer.granted) {
    return {
      number,
      trigger,
      applied: false,
      role: await inTransaction(deps.db, (trx) => currentRole(trx, at)),
      ...refusal(answer),
    };
  }
  const { fencingToken: granted, leaseExpiresAt } = answer;
  return { number, trigger, applied: true, role: "work", fencingToken: granted, leaseExpiresAt };
}

async function startUnder(
  deps: Deps,
  caller: Caller,
  at: ItemAt,
  { trigger, summary }: Transition,
  token: number,
): Promise<AdvanceResult> {
  const { number } = at;
  try {
    const role = await startBelow(deps, caller, at, token, summary ?? null);
    return { number, trigger, applied: true, role };
  } catch (error) {
    if (!(error instanceof ResourceUnavailable)) throw error;
    const { contendedResources, retryAfterMs } = error;
    const role = await inTransaction(deps.db, (trx) => currentRole(trx, at));
    const answer = { reason: "resource_unavailable", blockers: [], contendedResources, retryAfterMs };
    return { number, trigger, applied: false, role, ...refusal(answer) };
  }
}

/** Lifts the hold and goes on, both or neither. */
async function resume(
  deps: Deps,
  caller: Caller,
  at: ItemAt,
  transition: Transition,
): Promise<AdvanceResult> {
  const { summary = null, fencingToken } = transition;
  const resuming = inTransaction(deps.db, async (trx) => {
    const inside = { ...deps, db: trx };
    await unhold(inside, caller, at, fencingToken ?? null, summary);
    const started = await start(inside, caller, at, transition);
    if (!started.applied) throw new NotResumed(started);
    return started;
  });
  // In a transaction of the caller's it must reach that one.
  const result = deps.db.isTransaction ? await resuming : await resuming.catch(answerOfNotResumed);
  if (result.applied) deps.wake.outbox();
  return result;
}

/** Takes the lifted hold back, with the transaction. */
class NotResumed extends Error {
  readonly started: AdvanceResult;

  constructor(started: AdvanceResult) {
    super("the claim was refused");
    this.name = "NotResumed";
    this.started = started;
  }
}

/** The hold is back. */
function answerOfNotResumed(error: unknown): AdvanceResult {
  if (error instanceof NotResumed) return { ...error.started, role: "blocked" };
  throw error;
}

const TRANSIENT: readonly string[] = [
  "contended",
  "ancestor_claimed",
  "quarantined",
  "not_quiesced",
  "in_review",
  "resource_unavailable",
];

function refusal(answer: {
  reason: string;
  retryAfterMs?: number | undefined;
  blockers: readonly number[];
  contendedResources?: readonly string[] | undefined;
}) {
  const on =
    answer.blockers.length > 0 ? ` by ${answer.blockers.map((number) => `#${number}`).join(", ")}` : "";
  return {
    error: `the claim was refused: ${answer.reason}${on}${answer.contendedResources ? `: ${answer.contendedResources.join(", ")}` : ""}`,
    errorKind: TRANSIENT.includes(answer.reason) ? ("transient" as const) : ("permanent" as const),
    errorCode: answer.reason,
    ...(answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs }),
    ...(answer.contendedResources ? { contendedResources: [...answer.contendedResources] } : {}),
  };
}

const ownName = ({ actor }: Caller): string => (OWNER_PATTERN.test(actor) ? actor : "orchestrator");
