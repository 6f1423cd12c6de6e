/** The holder completes the item, with evidence that is checked (protocol 8). */

import type { CompleteRequest } from "../contract/finishing.ts";
import type { ItemBody } from "../contract/items.ts";
import { Problem } from "../contract/problem.ts";
import type { Completion } from "../domain/comments.ts";
import { type Evidence, missingEvidence } from "../domain/evidence.ts";
import { isGrouping } from "../domain/grouping.ts";
import { BACKLOG, itemId } from "../domain/record-key.ts";
import { tagValue } from "../domain/tags.ts";
import type { Trx } from "../store/database.ts";
import { groupingsWithoutDiagram } from "../store/groupings.ts";
import { findItemView } from "../store/item-facts.ts";
import { lockItem } from "../store/item-lock.ts";
import type { ItemView } from "../store/item-view.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { fencedWrite } from "./fenced-write.ts";
import { gatherEvidence } from "./gather-evidence.ts";
import { completeItem, type ItemAt } from "./item-changes.ts";
import { type Once, runOnce } from "./once.ts";
import { getItem, noItem } from "./read-items.ts";
import { recording, writeResume } from "./write-resume.ts";

/** Completing what is complete changes nothing. Throws `evidence_missing`, `conflict` and the fence's refusals. */
export async function completeByHolder(
  deps: Deps,
  caller: Caller,
  at: ItemAt,
  token: number | null,
  request: CompleteRequest,
  once: Once | null,
): Promise<ItemBody> {
  await once?.assertNew();
  const evidence = await gatherEvidence(deps, caller, at, request);
  return runOnce(once, deps, async (inside) => {
    const item = await completeUnderFence(inside, caller, at, token, evidence, request.resume);
    inside.wake.outbox();
    return item;
  });
}

/** The write itself, for who has gathered the evidence. */
export async function completeUnderFence(
  deps: Deps,
  caller: Caller,
  at: ItemAt,
  token: number | null,
  evidence: Evidence,
  resume: CompleteRequest["resume"],
): Promise<ItemBody> {
  const { repository, number } = at;
  const target = { repository, topic: BACKLOG, id: itemId(number) };
  return recording(deps, repository, resume, (inside) =>
    fencedWrite(inside, caller, target, token, async (trx, holder) => {
      const item = await liveItem(trx, at);
      if (item.facts.state !== "complete") {
        await assertDiagrams(trx, at);
        if (resume) await writeResume(trx, at, holder, resume);
        await completeItem(trx, at, provenBy(evidence, item), null, caller.actor);
      }
      return getItem({ ...deps, db: trx }, repository, number, caller);
    }),
  );
}

/** A design item is done when the groupings that came of it show how they hang together (protocol 7). */
async function assertDiagrams(trx: Trx, { repository, number }: ItemAt): Promise<void> {
  const [epic] = await groupingsWithoutDiagram(trx, repository.id, number);
  if (epic === undefined) return;
  throw new Problem(
    "conflict",
    `the grouping #${epic}, which came of #${number}, lacks its diagram: wait until it is posted, or comment one on #${epic} in a code block of the language mermaid`,
    { retryAfterMs: 5000 },
  );
}

/** The item, which must be there and not be parked or cancelled. */
async function liveItem(trx: Trx, at: ItemAt): Promise<ItemView> {
  const { repository, number } = at;
  await lockItem(trx, repository.id, number);
  const found = await findItemView(trx, repository.id, number, repository.settings);
  if (!found?.item.facts.enrolled) throw noItem(repository, number);
  const { facts } = found.item;
  if (facts.state === "parked")
    throw new Problem("conflict", `#${number} is parked: a human unparks it first`);
  if (facts.state === "cancelled") throw new Problem("conflict", `#${number} is cancelled: reopen it first`);
  if (isGrouping(facts) && facts.state === null) {
    throw new Problem(
      "conflict",
      `#${number} is a grouping: it completes with its integration item, or when a human closes its issue`,
    );
  }
  return found.item;
}

function provenBy(evidence: Evidence, { facts }: ItemView): Completion {
  const missing = missingEvidence(evidence, {
    number: facts.number,
    phase: tagValue(facts.tags, "phase:"),
    baseBranch: tagValue(facts.tags, "baseBranch:"),
    createdAt: facts.createdAt,
  });
  if (missing !== null) throw new Problem("evidence_missing", missing);
  if (evidence.kind === "pull" && evidence.pull) return { pull: evidence.number, base: evidence.pull.base };
  return { durable: evidence.kind === "durable" ? evidence.places.map(({ place }) => place) : [] };
}
