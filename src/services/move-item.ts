/** The triggers that end work or bring an item back, and working below an epic's claim (protocol 9). */

import { Problem } from "../contract/problem.ts";
import { cancelledComment, reopenedComment } from "../domain/comments.ts";
import type { Role } from "../domain/item-state.ts";
import { isHeld } from "../domain/lease.ts";
import { BACKLOG, itemId } from "../domain/record-key.ts";
import { reasonsAgainst } from "../domain/why-not.ts";
import { databaseNow } from "../store/clock.ts";
import type { Trx } from "../store/database.ts";
import { findItemView } from "../store/item-facts.ts";
import type { ItemView } from "../store/item-view.ts";
import { promise, settlePromise } from "../store/outbox.ts";
import { takeResourcesBelow } from "../store/resources.ts";
import { setHold, setStartedUnder } from "../store/transitions.ts";
import type { Caller } from "./caller.ts";
import { changingRole, currentRole } from "./changing-role.ts";
import type { Deps } from "./deps.ts";
import { fencedWrite, type Holder } from "./fenced-write.ts";
import { cancelItem, endLiveClaim, type ItemAt, reopenItem } from "./item-changes.ts";
import { noItem } from "./read-items.ts";

/** Makes one move, and answers the role that it led to. */
export type Move = (
  deps: Deps,
  caller: Caller,
  at: ItemAt,
  token: number | null,
  summary: string | null,
) => Promise<Role>;

interface Scene {
  readonly trx: Trx;
  readonly at: ItemAt;
  readonly holder: Holder | null;
  readonly item: ItemView;
  readonly now: Date;
  readonly actor: string;
  /** The API token. */
  readonly caller: string;
  readonly summary: string | null;
}

/** What the item needs is held by others. Nothing was changed. */
export class ResourceUnavailable extends Error {
  readonly contendedResources: readonly string[];
  readonly retryAfterMs: number;

  constructor(contendedResources: readonly string[], retryAfterMs: number) {
    super(`other items hold ${contendedResources.join(", ")}`);
    this.contendedResources = contendedResources;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A move under the fence, on an item that is there. */
const move =
  (work: (scene: Scene) => Promise<Role>): Move =>
  (deps, caller, at, token, summary) => {
    const { repository, number } = at;
    const target = { repository, topic: BACKLOG, id: itemId(number) };
    return fencedWrite(deps, caller, target, token, async (trx, holder) => {
      const found = await findItemView(trx, repository.id, number, repository.settings);
      if (!found?.item.facts.enrolled) throw noItem(repository, number);
      const actor = holder?.owner ?? caller.actor;
      return work({
        trx,
        at,
        holder,
        item: found.item,
        now: found.now,
        actor,
        caller: caller.actor,
        summary,
      });
    });
  };

const conflict = (detail: string): Problem => new Problem("conflict", detail);

function assertLive({ item: { facts } }: Scene, what: string): void {
  if (facts.state === "parked") throw conflict(`#${facts.number} is parked, and ${what}: a human unparks it`);
  if (facts.state !== null) throw conflict(`#${facts.number} is ${facts.state}, and ${what}`);
}

/** Out of the ready set until `resume`; the claim ends. Held again, it says why anew. */
export const hold: Move = move(async (scene) => {
  assertLive(scene, "cannot be put on hold");
  const { trx, at, actor, summary, holder } = scene;
  return changingRole(
    trx,
    at,
    { trigger: "hold", actor, summary, fence: holder?.fence ?? null },
    async () => {
      // First, so that its resources are seen to end for that.
      await setHold(trx, at.repository.id, at.number, { by: actor, note: summary });
      await endLiveClaim(trx, at, "released");
    },
  );
});

/** Lifts the hold. It never unparks: that is a human act. */
export const unhold: Move = move(async (scene) => {
  assertLive(scene, "resume does not unpark or reopen");
  const { trx, at, actor, summary, item } = scene;
  if (item.facts.hold === null) return currentRole(trx, at);
  return changingRole(trx, at, { trigger: "resume", actor, summary }, () =>
    setHold(trx, at.repository.id, at.number, null),
  );
});

/** Not worked on any more: the issue is closed as not planned, and what waits for it stalls. */
export const cancel: Move = move(async (scene) => {
  const { trx, at, actor, summary, item } = scene;
  const { repository, number } = at;
  if (item.facts.state === "cancelled") return currentRole(trx, at);
  if (item.facts.state === "complete") throw conflict(`#${number} is complete: there is nothing to cancel`);
  await cancelItem(trx, at, actor, null, summary);
  await settlePromise(trx, repository.id, `reopen:${number}`, "cancelled");
  await say(trx, at, "cancelled", cancelledComment(number, actor, summary));
  await promise(trx, {
    repositoryId: repository.id,
    issueNumber: number,
    promise: `close:${number}`,
    effect: { kind: "close_issue", reason: "not_planned" },
  });
  return currentRole(trx, at);
});

/** Back to the backlog; what was parked is parked again. */
export const reopen: Move = move(async (scene) => {
  const { trx, at, actor, summary, item } = scene;
  const { repository, number } = at;
  if (item.facts.state === "parked") throw conflict(`#${number} is parked: a human unparks it, not reopen`);
  if (item.facts.state === null) return currentRole(trx, at);
  await reopenItem(trx, at, actor, null, summary);
  await say(trx, at, "reopened", reopenedComment(actor, summary));
  await promise(trx, {
    repositoryId: repository.id,
    issueNumber: number,
    promise: `reopen:${number}`,
    effect: { kind: "reopen_issue" },
  });
  return currentRole(trx, at);
});

/** Work below an epic's claim, under its token; or going on under the item's own. */
export const startBelow: Move = move(async (scene) => {
  const { trx, at, actor, summary, item, now, holder } = scene;
  const { number } = at;
  if (holder === null)
    throw conflict(`no claim with this token is live on #${number} or above it: start without a token`);
  const own = item.facts.claim;
  if (own?.live && own.fence === holder.fence) {
    if (isHeld(own, now)) return currentRole(trx, at);
    throw conflict("the lease of this token has lapsed: start without a token, which claims the item again");
  }
  const asker = { now, region: null };
  const against = reasonsAgainst(item.facts, asker).filter(({ reason }) => reason !== "ancestor_claimed");
  const [first] = against;
  if (first && first.reason !== "resource_unavailable")
    throw conflict(`#${number} cannot be started: ${first.detail ?? first.reason}`);
  const taken = await takeResourcesBelow(trx, at.repository.id, number, holder.fence, scene.caller);
  if (taken === null) throw conflict("the claim of this token has ended: claim the epic again");
  if ("contended" in taken) throw new ResourceUnavailable(taken.contended, taken.retryAfterMs);
  const trigger = { trigger: "start", actor, summary, fence: holder.fence };
  return changingRole(trx, at, trigger, () => setStartedUnder(trx, at.repository.id, number, holder.fence));
});

/** Says it on the issue. The first line tells this time from the last. */
async function say(trx: Trx, at: ItemAt, what: string, text: string): Promise<void> {
  const stamp = (await databaseNow(trx)).toISOString();
  await promise(trx, {
    repositoryId: at.repository.id,
    issueNumber: at.number,
    promise: `${what}:${at.number}:${stamp}`,
    effect: {
      kind: "comment",
      body: `<!-- leasehold: ${what} item=${itemId(at.number)} at=${stamp} -->\n${text}`,
    },
  });
}
