/**
 * Asks GitHub which deliveries of the App's webhook failed, and has them made again. Where none failed since the last
 * audit every repository's mirror is whole, at the cost of one request; where it cannot vouch, repositories are read one
 * by one (`reconcile.ts`).
 */

import { randomUUID } from "node:crypto";
import { judgeAudit } from "../domain/delivery-audit.ts";
import type { Client } from "../github/connection.ts";
import { askForRedelivery, type ListedDelivery, listDeliveries } from "../github/deliveries.ts";
import { failureOf } from "../github/failure.ts";
import { tellsOfLinks } from "../github/installations.ts";
import { askForReading } from "../store/backfill.ts";
import {
  countTry,
  finishAudit,
  forgetArrived,
  forgetMissed,
  type Miss,
  missedDeliveries,
  noteMissed,
  releaseAudit,
  saveLinkEvents,
  takeAudit,
} from "../store/delivery-audit.ts";
import { findRepositoryById } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { reconcileInstallations } from "./reconcile-installations.ts";

/** A delivery is listed when it has ended, GitHub waits ten seconds (Enterprise Server: thirty), and clocks differ. */
const LAG_MS = 60_000;
/** So far before the newest that was seen the next look begins: what ended late has an earlier time. */
const OVERLAP_MS = 120_000;
/** GitHub keeps deliveries for three days. */
const WINDOW_MS = 3 * 86_400_000;
const MOST_PAGES = 20;
/** After that what the delivery told is read. */
const MOST_TRIES = 3;
const MOST_REDELIVERIES = 100;
const RETRY_SECONDS = 60;

/** `quietSeconds`: so long a silence may be a webhook that is switched off. One process at a time. */
export async function auditDeliveries(deps: Deps, quietSeconds: number): Promise<void> {
  if (deps.github.app === null) return;
  const auditor = `${deps.replica}/${randomUUID()}`;
  const taken = await takeAudit(deps.db, auditor);
  if (taken === null) return;
  try {
    const client = await deps.github.appClient();
    if (taken.asksLinks) await saveLinkEvents(deps.db, await tellsOfLinks(client));
    const found = await list(client, taken.last);
    await noteMissed(deps.db, missedOf(found.rows));
    const judged = judgeAudit({
      now: found.now,
      last: taken.last,
      listed: found.rows.map(({ at }) => at),
      whole: found.whole,
      reached: found.reached,
      quietMs: quietSeconds * 1000,
    });
    const [newest = null] = found.rows;
    const isDoubt = judged.kind === "doubt";
    const begins = judged.kind === "begins";
    if (begins)
      deps.log.info({ why: judged.why }, "what was delivered before cannot be vouched for; it is read");
    // Before it is vouched for: repositories that came or went meanwhile.
    if (begins) await reconcileInstallations(deps);
    await deps.db.transaction().execute((trx) =>
      finishAudit(trx, auditor, {
        coveredTo: isDoubt ? null : new Date(taken.at.getTime() - LAG_MS),
        coveredFrom: judged.kind === "begins" ? ourTime(judged.from, found.now, taken.at) : null,
        doubt: isDoubt ? judged.why : null,
        newest: newest && (taken.last === null || newest.at > taken.last) ? newest : null,
      }),
    );
    await catchUp(deps, client);
  } catch (error) {
    const failure = failureOf(error);
    const seconds = failure.retryAfterSeconds ?? RETRY_SECONDS;
    deps.log.warn(
      { reason: failure.message, retryInSeconds: seconds },
      "the App's deliveries could not be audited",
    );
    await releaseAudit(deps.db, auditor, seconds);
  }
}

/** GitHub's times have whole seconds; counted from the end of this one. */
const ourTime = (theirs: Date, theirNow: Date, ourNow: Date): Date =>
  new Date(ourNow.getTime() - (theirNow.getTime() + 1000 - theirs.getTime()));

interface Found {
  readonly rows: readonly ListedDelivery[];
  readonly whole: boolean;
  readonly reached: boolean;
  readonly now: Date;
}

/** One page, where the last audit's newest is on it; else the failed ones alone, as far back. */
async function list(client: Client, last: Date | null): Promise<Found> {
  const first = await listDeliveries(client, { cursor: null, failed: false });
  const horizon = last === null ? first.at.getTime() - WINDOW_MS : last.getTime() - OVERLAP_MS;
  const isPast = (rows: readonly ListedDelivery[]) => rows.some(({ at }) => at.getTime() < horizon);
  const rows = [...first.rows];
  const since = () => rows.filter(({ at }) => at.getTime() >= horizon);
  if (first.next === null || isPast(first.rows))
    return { rows: since(), whole: true, reached: true, now: first.at };
  let cursor: string | null = null;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await listDeliveries(client, { cursor, failed: true });
    rows.push(...page.rows);
    cursor = page.next;
    if (cursor === null || isPast(page.rows))
      return { rows: since(), whole: false, reached: true, now: first.at };
  }
  return { rows: since(), whole: false, reached: false, now: first.at };
}

/** Those of which no try succeeded; the newest try of each. */
function missedOf(rows: readonly ListedDelivery[]) {
  const delivered = new Set(rows.filter(({ ok }) => ok).map(({ guid }) => guid));
  const missed = new Map<string, ListedDelivery>();
  for (const row of rows) if (!delivered.has(row.guid) && !missed.has(row.guid)) missed.set(row.guid, row);
  return [...missed.values()].map(({ id, guid, event, installationId, repositoryId }) => ({
    repositoryId: repositoryId ?? 0,
    guid,
    deliveryId: id,
    installationId,
    event,
  }));
}

/** Has what was missed delivered again; what does not come is read from GitHub. */
async function catchUp(deps: Deps, client: Client): Promise<void> {
  await forgetArrived(deps.db);
  const missed = await missedDeliveries(deps.db, MOST_REDELIVERIES);
  const lost = missed.filter(({ tries }) => tries >= MOST_TRIES);
  for (const miss of missed) {
    if (miss.tries < MOST_TRIES) await redeliver(deps, client, miss);
  }
  if (lost.length === 0) return;
  const unknown: Miss[] = [];
  for (const repositoryId of new Set(lost.map((miss) => miss.repositoryId))) {
    const repository = await findRepositoryById(deps.db, repositoryId);
    if (repository === null) unknown.push(...lost.filter((miss) => miss.repositoryId === repositoryId));
    else if (await askForReading(deps.db, repositoryId, "since")) deps.wake.backfill(repositoryId);
  }
  if (unknown.length === 0) return;
  await reconcileInstallations(deps);
  for (const { repositoryId, guid } of unknown) await forgetMissed(deps.db, repositoryId, [guid]);
}

async function redeliver(deps: Deps, client: Client, miss: Miss): Promise<void> {
  try {
    await askForRedelivery(client, miss.deliveryId);
    await countTry(deps.db, miss, miss.tries + 1);
    const { guid, event, repositoryId, tries } = miss;
    deps.log.info(
      { delivery: guid, event, repositoryId, tries: tries + 1 },
      "a failed delivery was asked for again",
    );
  } catch (error) {
    const failure = failureOf(error);
    if (failure.kind !== "refused") throw error;
    // GitHub does not have it any more.
    await countTry(deps.db, miss, MOST_TRIES);
  }
}
