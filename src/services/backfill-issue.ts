/** One issue of a backfill: applied as if it had been announced, its item decided by the issue's history. */

import type { GitHubIssue } from "../contract/github-payloads.ts";
import { admissionByHistory } from "../domain/admission-history.ts";
import { planFromHistory } from "../domain/history-plan.ts";
import type { Transition } from "../domain/issue-transitions.ts";
import { type IssueSnapshot, mergeIssue } from "../domain/mirror-merge.ts";
import { itemRef } from "../domain/record-key.ts";
import { showsFormerGate } from "../domain/settings.ts";
import { hasLabel } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { isDeleted } from "../github/failure.ts";
import { type IssueEventRead, readIssueEvents } from "../github/reads.ts";
import { hostOf, issueSnapshot, pullStub } from "../github/snapshots.ts";
import type { Trx } from "../store/database.ts";
import { findIssue, lockIssue, saveIssue } from "../store/mirror.ts";
import { isUnconfirmed, labelPromise } from "../store/outbox.ts";
import { savePull } from "../store/pulls.ts";
import { lockRecord } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import { askHuman, labelActs } from "./ask-actor.ts";
import type { Deps } from "./deps.ts";
import { holdSettings } from "./hold-settings.ts";
import { carryOut, knownIssue, knownItem } from "./issue-transitions.ts";
import { syncIssueLinks } from "./sync-issue-links.ts";

/** Takes up an issue as it is listed. A pull request among them leaves its stub. Reading one twice changes nothing. */
export async function takeIssue(
  deps: Deps,
  client: Client,
  repository: Repository,
  raw: GitHubIssue,
): Promise<void> {
  if (raw.pull_request) {
    const stub = pullStub(raw, { ...repository, host: hostOf(raw.html_url) });
    await deps.db.transaction().execute((trx) => savePull(trx, repository.id, stub));
    return;
  }
  await syncIssueLinks(deps, client, repository, raw).catch(nullIfDeleted);
  const incoming = issueSnapshot(raw);
  const plan = await askHistory(deps, client, repository, incoming).catch(nullIfDeleted);
  if (plan === null) return;
  await deps.db.transaction().execute(async (trx) => {
    await holdSettings(trx, repository);
    await lockRecord(trx, itemRef(repository.id, incoming.number));
    const stored = await lockIssue(trx, repository.id, incoming.number);
    if (stored?.gone) return;
    const change = mergeIssue(stored?.issue ?? null, incoming, { action: null, label: null });
    if (change.kind === "save") await saveIssue(trx, repository.id, change.issue);
    // An event that came meanwhile knows better than what was read before it, also within the same second.
    else if (stored && !isSame(stored.issue, incoming)) return;
    const context = { issue: incoming, eventAt: incoming.updatedAt, region: deps.region, merge: null };
    await carryOut(trx, { repository, number: incoming.number }, await plan(trx), context);
  });
}

/** The mirror has what was read: the same time, state and labels. */
function isSame(stored: IssueSnapshot, read: IssueSnapshot): boolean {
  return (
    stored.updatedAt.getTime() === read.updatedAt.getTime() &&
    stored.open === read.open &&
    stored.labels.length === read.labels.length &&
    read.labels.every((label) => hasLabel(stored.labels, label))
  );
}

type Plan = (trx: Trx) => Promise<Transition[]>;

/** Deleted since it was listed. */
function nullIfDeleted(error: unknown): null {
  if (isDeleted(error)) return null;
  throw error;
}

/** Asks GitHub for the issue's history now; the plan itself is made under the item's lock. */
async function askHistory(
  deps: Deps,
  client: Client,
  repository: Repository,
  issue: IssueSnapshot,
): Promise<Plan> {
  const { settings } = repository;
  const { gate, stale } = settings.labels;
  const before = await knownItem(deps.db, repository, issue.number);
  const enrolled = settings.enrollAll || hasLabel(issue.labels, settings.labels.backlog);
  if (!enrolled) return async () => (before?.enrolled ? [{ kind: "enrolled", enrolled: false }] : []);

  const was = await findIssue(deps.db, repository.id, issue.number);
  const author = { id: issue.authorId, login: issue.authorLogin, type: issue.authorType };
  const events = await readIssueEvents(client, repository, issue.number);
  const gateActs = await labelActs(client, repository, events, gate);
  const admission = admissionByHistory({
    author: {
      login: issue.authorLogin,
      human:
        !showsFormerGate(issue.labels, settings) &&
        (await askHuman(client, repository, author, issue.viaAppId !== null, settings)),
    },
    labelPresent: hasLabel(issue.labels, gate),
    events: gateActs,
  });
  const staleActs = await labelActs(client, repository, events, stale);
  // Open on GitHub is not enough: the close that completion promised may still be on its way.
  const isReopened = was !== null && !was.issue.open && was.issue.updatedAt < issue.updatedAt && issue.open;
  const reopenedBy = isReopened ? await askReopener(client, repository, events) : null;
  return async (trx) =>
    planFromHistory({
      issue: knownIssue(issue),
      item: await knownItem(trx, repository, issue.number),
      settings,
      admission,
      gate: gateActs.at(-1) ?? null,
      stale: staleActs.at(-1) ?? null,
      pending: {
        gate: await isUnconfirmed(trx, repository.id, labelPromise(issue.number, gate)),
        stale: await isUnconfirmed(trx, repository.id, labelPromise(issue.number, stale)),
      },
      reopenedBy,
    });
}

/** The human who reopened the issue last; null: it was no human. */
async function askReopener(
  client: Client,
  repository: Repository,
  events: readonly IssueEventRead[],
): Promise<string | null> {
  const last = events.findLast(({ event }) => event === "reopened");
  if (!last) return null;
  const human = await askHuman(client, repository, last.sender, last.viaApp, repository.settings);
  return human ? last.sender.login : null;
}
