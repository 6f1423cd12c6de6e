/** Keeps the trail of an issue's text, and takes admission back where the text came without anybody's edit (protocol 3). */

import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Digest, followBody, type ToldText, UNOPENED } from "../domain/body-trail.ts";
import { isWanted, type KnownItem, type Transition } from "../domain/issue-transitions.ts";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";
import { knownIssue } from "../domain/plain-issue-event.ts";
import { hasLabel } from "../domain/tags.ts";
import { saveBodyTrail, untoldBodies } from "../store/body-trails.ts";
import type { Trx } from "../store/database.ts";
import { hasPendingDelivery } from "../store/inbox.ts";
import { lockItem } from "../store/item-lock.ts";
import { lockIssue, type MirroredIssue } from "../store/mirror.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { holdSettings } from "./hold-settings.ts";
import { carryOut, knownItem } from "./issue-transitions.ts";
import type { ItemAt } from "./item-changes.ts";

/** GitHub tells of an edit within moments; what it has not told by then it will not tell. */
export const NEWS_SECONDS = 120;

const BATCH = 200;

/** What an event brings: the issue as it leaves the mirror, and what it tells of the text. */
interface Brought {
  readonly issue: IssueSnapshot;
  readonly told: ToldText | null;
  /** GitHub's time. */
  readonly at: Date;
}

/** Whether it leaves the trail of the text as it is: so it is with nearly every event. */
export function isTold(
  stored: Pick<MirroredIssue, "issue" | "trail"> | null,
  { issue, told }: Omit<Brought, "at">,
): boolean {
  if (stored === null) return told?.from === null;
  if (stored.trail !== null) return false;
  const [before, after] = [stored.issue.body ?? "", issue.body ?? ""];
  return before === after || (told !== null && (told.from ?? before) === before && told.to === after);
}

/**
 * Goes on with the trail after an event, under the item's lock and when the item is what the event made of it; `before`: the
 * item as it was, if the event may have changed it. Only of what is admitted, for of nothing else does it matter who edited it; and of what is not heard of
 * in its order, for it may be an item before that is known.
 */
export async function keepBodyTrail(
  trx: Trx,
  { repository, number }: ItemAt,
  stored: MirroredIssue | null,
  brought: Brought,
  before?: KnownItem | null,
): Promise<void> {
  if (isTold(stored, brought)) return;
  const item = await knownItem(trx, repository, number);
  const { issue, told, at } = brought;
  const was = before === undefined ? item : before;
  const isUnopened = stored === null || stored.trail?.told === UNOPENED;
  const isKept =
    was === null
      ? isUnopened && item?.admitted !== false && isWanted(knownIssue(issue), repository.settings)
      : was.admitted && item?.admitted;
  const news = {
    before: stored === null ? UNOPENED : digestOf(stored.issue.body),
    after: digestOf(issue.body),
    edit: told && {
      from: told.from === null ? UNOPENED : digestOf(told.from ?? stored?.issue.body ?? null),
      to: digestOf(told.to),
    },
    at,
  };
  const trail = isKept ? followBody(stored?.trail ?? null, news) : null;
  if (!isDeepStrictEqual(trail, stored?.trail ?? null))
    await saveBodyTrail(trx, repository.id, number, trail);
}

/** Of admitted items whose text nobody told of although there was time to, admission is taken back. Answers how many. */
export async function withdrawUntold(deps: Deps): Promise<number> {
  let withdrawn = 0;
  let after = { repositoryId: -9_007_199_254_740_991, number: 0 };
  for (;;) {
    const batch = await untoldBodies(deps.db, NEWS_SECONDS, BATCH, after);
    for (const { repositoryId, number } of batch) {
      const repository = await findRepositoryById(deps.db, repositoryId);
      if (!repository) continue;
      try {
        const did = await deps.db.transaction().execute((trx) => withdraw(trx, deps, repository, number));
        if (!did) continue;
        withdrawn += 1;
        deps.log.warn(
          { repositoryId, issue: number },
          "the text of an admitted item changed, and no delivery told who edited it: it waits for admission again",
        );
      } catch (error) {
        // One that fails must not keep the others from being looked at.
        deps.log.error({ err: error, repositoryId, number }, "an edited item could not be looked at");
      }
    }
    const last = batch.at(-1);
    if (!last || batch.length < BATCH) return withdrawn;
    after = last;
  }
}

async function withdraw(trx: Trx, deps: Deps, repository: Repository, number: number): Promise<boolean> {
  await holdSettings(trx, repository);
  await lockItem(trx, repository.id, number);
  const stored = await lockIssue(trx, repository.id, number);
  const asOf = stored?.trail?.untoldAsOf ?? null;
  if (stored === null || stored.gone || asOf === null) return false;
  if (await hasPendingDelivery(trx, repository.id, `issue:${number}`)) return false;
  const item = await knownItem(trx, repository, number);
  if (!item?.admitted) return false;
  const { issue } = stored;
  const { gate } = repository.settings.labels;
  // Of what is over nobody sees a label; it is put on when the issue is reopened.
  const isOver = item.state === "complete" || item.state === "cancelled";
  const mends = !isOver && !hasLabel(issue.labels, gate) && isWanted(knownIssue(issue), repository.settings);
  const plan: Transition[] = [
    { kind: "withdraw", why: "the body was edited, and nobody can tell by whom" },
    ...(mends ? [{ kind: "add_label", label: gate } as const] : []),
  ];
  const eventAt = new Date(Math.max(asOf.getTime(), item.admissionAt.getTime()));
  const context = { issue, eventAt, region: deps.region, merge: null };
  await carryOut(trx, { repository, number }, plan, context);
  return true;
}

const digestOf = (text: string | null): Digest =>
  createHash("sha256")
    .update(text ?? "")
    .digest("base64url");
