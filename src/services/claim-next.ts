/** "Give me work" (protocol 4): the best ready item, claimed in one step; many callers at once each get another. */

import type { ClaimNextAnswer, ClaimNextRequest } from "../contract/claims.ts";
import { RadiusIndex } from "../domain/blast-radius.ts";
import { clampLease } from "../domain/lease.ts";
import { BACKLOG, itemId, itemRef } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import { PRIORITIES } from "../domain/tags.ts";
import { type Candidates, type CandidatesAsked, findCandidates, type Selector } from "../store/candidates.ts";
import type { Db } from "../store/database.ts";
import type { ItemRadius } from "../store/radii.ts";
import type { Repository } from "../store/repositories.ts";
import { type NextCall, type NextGrant, type NextRow, takeNext } from "../store/take-next.ts";
import type { Caller } from "./caller.ts";
import { claim, counted, type Delivery, promised } from "./claim.ts";
import type { Deps } from "./deps.ts";
import { type Granted, granted } from "./granted-claim.ts";
import type { Once } from "./once.ts";
import { meetingsWith, ready } from "./ready.ts";
import { SharedReads } from "./shared-reads.ts";

/** Callers that arrive together go through the same items; each batch is read afresh, without those already tried. */
const BATCH = 20;
/** Enough that a caller among hundreds finds what is left. */
const MOST_TRIED = 2_000;

interface Request {
  readonly deps: Deps;
  readonly caller: Caller;
  readonly repository: Repository;
  readonly request: ClaimNextRequest;
  readonly delivery: Delivery | null;
  readonly once: Once | null;
}

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
  const refusal = await deps.mirrors.refusal(repository, deps.db);
  if (refusal !== null) return stale(refusal);
  const region = request.region ?? deps.region;
  const selector = selectorOf(request);
  const tried: number[] = [];
  const hasLeft = (): boolean => delivery?.left.aborted ?? false;
  const asker = { deps, caller, repository, request, delivery, once };
  while (tried.length < MOST_TRIED && !hasLeft()) {
    const asked = {
      repositoryId: repository.id,
      region,
      selector,
      tried,
      limit: BATCH,
      view: scopeOf(caller),
    };
    const { clear, overlapping } = await choice(deps.db, repository, asked);
    if (clear.length + overlapping.length === 0) break;
    // Nobody is left to work on it.
    if (hasLeft()) break;
    tried.push(...overlapping, ...clear);
    if (clear.length === 0) continue;
    const taken = await takeFirst(asker, region, clear);
    if ("answer" in taken) return taken.answer;
    for (const busy of taken.busy) {
      const answer = await claimOne(asker, busy);
      if (answer.granted) return answer;
      // So would every other be.
      if (answer.reason === "mirror_stale") return stale(answer.detail ?? "");
    }
  }
  const query = { limit: 1, region, epic: request.selector?.epic };
  const { verdict, pending } = await ready(deps, repository, query, caller);
  return { granted: false, reason: "none_ready", verdict, pending };
}

const stale = (detail: string): ClaimNextAnswer => ({ granted: false, reason: "mirror_stale", detail });

/** What a caller may see, without who it is: all who see the same share what is read for one of them. */
const scopeOf = ({ repositories, scope }: Caller): View => ({ repositories, scope });

interface Choice {
  /** To be tried in this order. No two of them meet: what meets an earlier one is judged again after that. */
  readonly clear: readonly number[];
  /** They meet work in flight, and are skipped (protocol 6, step 11). */
  readonly overlapping: readonly number[];
}

const reads = new WeakMap<Db, SharedReads<Choice>>();

/** What to try next. Callers that ask the same at the same time share what is read. */
function choice(db: Db, repository: Repository, asked: CandidatesAsked): Promise<Choice> {
  const shared = reads.get(db) ?? new SharedReads<Choice>();
  reads.set(db, shared);
  const { quarantineSeconds, requireAnchors } = repository.settings;
  const key = JSON.stringify([asked, quarantineSeconds, requireAnchors]);
  return shared.ask(key, async () => chosen(await findCandidates(db, asked, repository.settings)));
}

function chosen({ numbers, radii, inFlight }: Candidates): Choice {
  const overlapping = new Set(meetingsWith(inFlight)(radii).map(({ number }) => number));
  const touching = new Map(radii.map((item) => [item.number, item]));
  const clear: number[] = [];
  const before: ItemRadius[] = [];
  for (const number of numbers.filter((each) => !overlapping.has(each))) {
    const item = touching.get(number);
    if (item !== undefined && new RadiusIndex(before).meets(item).length > 0) continue;
    if (item !== undefined) before.push(item);
    clear.push(number);
  }
  return { clear, overlapping: [...overlapping] };
}

type Taken = { readonly answer: Granted } | { readonly busy: readonly number[] };

/** Claims the first that is to be had at once, or tells on which of them others decide. */
async function takeFirst(asker: Request, region: string, numbers: readonly number[]): Promise<Taken> {
  const { deps, caller, repository, request, delivery, once } = asker;
  const call = {
    owner: request.owner,
    region,
    leaseSeconds: clampLease(request.leaseSeconds, deps.lease),
    scope: "item" as const,
  };
  const asked: NextCall = {
    ...call,
    repositoryId: repository.id,
    numbers,
    actor: caller.actor,
    deploymentRegion: deps.region,
    replica: deps.replica,
  };
  const answerOf = (inside: Deps, { number, claim }: NextGrant): Promise<Granted> =>
    granted(inside, caller, { repository, topic: BACKLOG, id: itemId(number) }, call, claim);
  let kept: Granted | null = null;
  const row =
    once === null
      ? await takeNext(deps.db, asked)
      : // The answer is kept in the transaction of the grant.
        await once.run<NextRow>(async (inside) => {
          const taken = await takeNext(inside.db, asked);
          if (taken.number === null) return { result: taken, kept: null };
          kept = await answerOf(inside, taken);
          const grant = { ref: itemRef(repository.id, taken.number), fence: taken.claim.fence };
          return { result: taken, kept: { status: 200, answer: kept, grant } };
        });
  if (row.number === null) return row;
  promised(deps, itemRef(repository.id, row.number), row.claim.fence, delivery, once);
  return { answer: counted(deps, kept ?? (await answerOf(deps, row))) };
}

/** Alone, and waiting for whoever decides on it. */
function claimOne({ deps, caller, repository, request, delivery, once }: Request, number: number) {
  const target = { repository, topic: BACKLOG, id: itemId(number) };
  const asked = { owner: request.owner, leaseSeconds: request.leaseSeconds, region: request.region };
  return claim(deps, caller, target, asked, delivery, once);
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
