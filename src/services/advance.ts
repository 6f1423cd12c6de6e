/** Moves an item by a trigger (protocol 9, "Roles, advance"): for orchestrators, which hold no flag that outlives them. */

import type {
  AdvanceManyAnswer,
  AdvanceManyRequest,
  AdvanceRequest,
  AdvanceResult,
} from "../contract/finishing.ts";
import { Problem } from "../contract/problem.ts";
import type { Role } from "../domain/item-state.ts";
import { OWNER_PATTERN } from "../domain/owner.ts";
import { BACKLOG, itemId, itemRef } from "../domain/record-key.ts";
import { inTransaction } from "../store/database.ts";
import type { Repository } from "../store/repositories.ts";
import type { Caller } from "./caller.ts";
import { currentRole } from "./changing-role.ts";
import { claim } from "./claim.ts";
import { completeByHolder } from "./complete-by-holder.ts";
import type { Deps } from "./deps.ts";
import { cancel, hold, type Move, ResourceUnavailable, reopen, startBelow, unhold } from "./move-item.ts";
import { noItem } from "./read-items.ts";
import { assertRecordSeen } from "./sight.ts";

type Transition = AdvanceRequest & { readonly fencingToken?: number | undefined };

/** One transition. A refused claim is an answer; what the fence or the rules refuse is thrown. */
export async function advance(
  deps: Deps,
  caller: Caller,
  at: { repository: Repository; number: number },
  transition: Transition,
): Promise<AdvanceResult> {
  const { number } = at;
  const { trigger } = transition;
  const token = transition.fencingToken ?? null;
  const done = (role: Role, more: object = {}): AdvanceResult => ({
    number,
    trigger,
    applied: true,
    role,
    ...more,
  });
  const moved = async (move: Move): Promise<AdvanceResult> => {
    const role = await move(deps, caller, at, token, transition.summary ?? null);
    deps.wake.outbox();
    return done(role);
  };
  switch (trigger) {
    case "start":
      return start(deps, caller, at, transition);
    case "resume":
      return resume(deps, caller, at, transition);
    case "complete":
      return done((await completeByHolder(deps, caller, at, token, transition, null)).role);
    case "hold":
      return moved(hold);
    case "cancel":
      return moved(cancel);
    case "reopen":
      return moved(reopen);
  }
}

/** Several, each by itself, in the order given. */
export async function advanceMany(
  deps: Deps,
  caller: Caller,
  repository: Repository,
  { transitions }: AdvanceManyRequest,
): Promise<AdvanceManyAnswer> {
  const results: AdvanceResult[] = [];
  for (const transition of transitions) {
    const { number, trigger } = transition;
    try {
      await assertRecordSeen(deps.db, caller, itemRef(repository.id, number));
      results.push(await advance(deps, caller, { repository, number }, transition));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      results.push({ number, trigger, applied: false, role: null, ...failure(error) });
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
async function start(
  deps: Deps,
  caller: Caller,
  at: { repository: Repository; number: number },
  transition: Transition,
): Promise<AdvanceResult> {
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
  at: { repository: Repository; number: number },
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
  at: { repository: Repository; number: number },
  transition: Transition,
): Promise<AdvanceResult> {
  const { summary = null, fencingToken } = transition;
  let refused: AdvanceResult | null = null;
  try {
    const result = await inTransaction(deps.db, async (trx) => {
      const inside = { ...deps, db: trx };
      await unhold(inside, caller, at, fencingToken ?? null, summary);
      const started = await start(inside, caller, at, transition);
      if (started.applied) return started;
      refused = started;
      throw new NotResumed();
    });
    deps.wake.outbox();
    return result;
  } catch (error) {
    // The hold is back.
    if (error instanceof NotResumed && refused !== null)
      return Object.assign({}, refused, { role: "blocked" });
    throw error;
  }
}

/** Takes the lifted hold back. */
class NotResumed extends Error {}

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
