/** "Give me work" (protocol 4): the best ready item, claimed in one step; many callers at once each get another. */

import type { ClaimNextAnswer, ClaimNextRequest } from "../contract/claims.ts";
import { RadiusIndex } from "../domain/blast-radius.ts";
import { BACKLOG, itemId } from "../domain/record-key.ts";
import { PRIORITIES } from "../domain/tags.ts";
import { findCandidates, type Selector } from "../store/candidates.ts";
import { radiiInFlight, radiiOf } from "../store/radii.ts";
import type { Repository } from "../store/repositories.ts";
import type { Caller } from "./caller.ts";
import { claim, type Delivery } from "./claim.ts";
import type { Deps } from "./deps.ts";
import type { Once } from "./once.ts";
import { ready } from "./ready.ts";

/** Callers that arrive together try the same items; each batch is read afresh, without those already taken. */
const BATCH = 32;
/** Enough that a caller among hundreds finds what is left. */
const MOST_TRIED = 2_000;

/** As `claim` does, it takes a grant back that does not reach its caller. */
export async function claimNext(
  deps: Deps,
  caller: Caller,
  repository: Repository,
  request: ClaimNextRequest,
  delivery: Delivery | null = null,
  once: Once | null = null,
): Promise<ClaimNextAnswer> {
  await once?.assertNew();
  const region = request.region ?? deps.region;
  const selector = selectorOf(request);
  const tried: number[] = [];
  const hasLeft = (): boolean => delivery?.left.aborted ?? false;
  while (tried.length < MOST_TRIED && !hasLeft()) {
    const batch = await findCandidates(deps.db, repository.id, region, selector, tried, BATCH, caller);
    if (batch.length === 0) break;
    const clear = await disjoint(deps, repository, batch);
    for (const number of batch) {
      // Nobody is left to work on it.
      if (hasLeft()) break;
      if (!clear.has(number)) {
        tried.push(number);
        continue;
      }
      const target = { repository, topic: BACKLOG, id: itemId(number) };
      const asked = { owner: request.owner, leaseSeconds: request.leaseSeconds, region: request.region };
      const answer = await claim(deps, caller, target, asked, delivery, once);
      if (answer.granted) return answer;
      tried.push(number);
    }
  }
  const query = { limit: 1, region, epic: request.selector?.epic };
  const { verdict, pending } = await ready(deps, repository, query, caller);
  return { granted: false, reason: "none_ready", verdict, pending };
}

/** Those whose blast radius meets that of no item in flight; the others are skipped (protocol 6, step 11). */
async function disjoint(
  deps: Deps,
  repository: Repository,
  batch: readonly number[],
): Promise<ReadonlySet<number>> {
  const inFlight = await radiiInFlight(deps.db, repository.id, repository.settings);
  if (inFlight.length === 0) return new Set(batch);
  const underWay = new RadiusIndex(inFlight);
  // As in the ready set: work that lies in a pull request is not held up by other work that does.
  const atWork = new RadiusIndex(inFlight.filter((item) => item.atWork));
  const radii = await radiiOf(deps.db, repository.id, batch, repository.settings);
  const meeting = new Set(
    radii
      .filter((item) => (item.hasPull ? atWork : underWay).meets(item).length > 0)
      .map(({ number }) => number),
  );
  return new Set(batch.filter((number) => !meeting.has(number)));
}

function selectorOf({ selector = {} }: ClaimNextRequest): Selector {
  return {
    epic: selector.epic ?? null,
    tags: selector.tags ?? [],
    priority: selector.priority === undefined ? null : PRIORITIES.indexOf(selector.priority),
    phase: selector.phase ?? null,
    orderBy: selector.orderBy ?? "priority",
    after: selector.after ?? null,
  };
}
