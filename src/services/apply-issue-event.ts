/** An event on an issue: gather what the decision needs, then mirror, decide and act in one transaction. */

import type { z } from "zod";
import type { IssuesPayload } from "../contract/github-payloads.ts";
import {
  type IssueEvent,
  type IssueFacts,
  type KnownItem,
  type ReadsNeeded,
  readsNeeded,
  transitionsOf,
} from "../domain/issue-transitions.ts";
import { type IssueSnapshot, mergeIssue } from "../domain/mirror-merge.ts";
import { itemRef } from "../domain/record-key.ts";
import { sameLabel, tagValue } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { type RepoAddress, readIssueEvents, readPull } from "../github/reads.ts";
import { issueSnapshot } from "../github/snapshots.ts";
import { findIssue, lockIssue, markGone, saveIssue } from "../store/mirror.ts";
import { pullsNaming } from "../store/pulls.ts";
import { findRecord, lockRecord } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import { askHuman, loginOf, senderOf } from "./ask-actor.ts";
import type { Deps } from "./deps.ts";
import { carryOut, knownIssue, knownItem } from "./issue-transitions.ts";
import { knownRepository } from "./known-repository.ts";
import { ChangedMeanwhile, settleDelivery } from "./settle-delivery.ts";

type Payload = z.infer<typeof IssuesPayload>;

/** Applies one `issues` delivery. Doing it again, late or out of order changes nothing more. */
export async function applyIssueEvent(deps: Deps, seq: number, payload: Payload): Promise<void> {
  const repository = await knownRepository(deps, payload);
  // Pull requests share the number space and are never items.
  if (!repository || payload.issue.pull_request) return settleDelivery(deps, seq, async () => {});
  const { number } = payload.issue;
  const incoming = issueSnapshot(payload.issue);
  const event: IssueEvent = {
    action: payload.action,
    label: payload.label?.name ?? null,
    bodyChanged: Boolean(payload.changes?.body),
    at: incoming.updatedAt,
  };

  const before = await findIssue(deps.db, repository.id, number);
  const after = mirrored(before?.issue ?? null, incoming, event);
  const item = await knownItem(deps.db, repository.id, number);
  const reads = readsNeeded(event, knownIssue(after), item, repository.settings);
  const asked = await gather(deps, repository, payload, { reads, event, after, item });

  await settleDelivery(deps, seq, async (trx) => {
    await lockRecord(trx, itemRef(repository.id, number));
    const stored = await lockIssue(trx, repository.id, number);
    if (stored?.gone) return;
    const change = mergeIssue(stored?.issue ?? null, incoming, event);
    if (change.kind === "save") await saveIssue(trx, repository.id, change.issue);
    const issue = change.kind === "save" ? change.issue : (stored?.issue ?? incoming);
    const current = await knownItem(trx, repository.id, number);
    const needed = readsNeeded(event, knownIssue(issue), current, repository.settings);
    if (isMore(needed, reads)) throw new ChangedMeanwhile();
    const facts: IssueFacts = {
      event,
      issue: knownIssue(issue),
      item: current,
      settings: repository.settings,
      ...asked,
    };
    const context = { issue, eventAt: event.at, region: deps.region };
    await carryOut(trx, { repository, number }, transitionsOf(facts), context);
    if (event.action === "deleted" || event.action === "transferred") {
      await markGone(trx, repository.id, number, event.action);
    }
  });
}

function mirrored(stored: IssueSnapshot | null, incoming: IssueSnapshot, event: IssueEvent): IssueSnapshot {
  const change = mergeIssue(stored, incoming, event);
  return change.kind === "save" ? change.issue : (stored ?? incoming);
}

const isMore = (needed: ReadsNeeded, had: ReadsNeeded): boolean =>
  (needed.sender && !had.sender) ||
  (needed.author && !had.author) ||
  (needed.events && !had.events) ||
  (needed.pulls && !had.pulls);

type Asked = Pick<IssueFacts, "actor" | "author" | "closedByWrongMerge">;

interface Question {
  readonly reads: ReadsNeeded;
  readonly event: IssueEvent;
  readonly after: IssueSnapshot;
  readonly item: KnownItem | null;
}

/** Asks GitHub, outside any transaction, what the decision needs and nothing else. */
async function gather(
  deps: Deps,
  repository: Repository,
  payload: Payload,
  question: Question,
): Promise<Asked> {
  const { reads, event, after } = question;
  const sender = senderOf(payload.sender);
  const asked: Asked = {
    actor: { login: loginOf(payload.sender), human: false },
    author: { login: after.authorLogin, human: false },
    closedByWrongMerge: false,
  };
  const installationId = payload.installation?.id ?? repository.installationId;
  if (!Object.values(reads).some(Boolean) || installationId === null) return asked;

  const client = await deps.github.client(installationId);
  const { settings } = repository;
  const author = { id: after.authorId, login: after.authorLogin, type: after.authorType };
  const authorHuman =
    reads.author && (await askHuman(client, repository, author, after.viaAppId !== null, settings));
  let actorHuman = reads.sender && (await askHuman(client, repository, sender, false, settings));
  if (actorHuman && reads.events && (await wasViaApp(client, repository, question, sender.id))) {
    actorHuman = false;
  }
  return {
    actor: { ...asked.actor, human: actorHuman },
    author: { ...asked.author, human: authorHuman },
    closedByWrongMerge: reads.pulls && (await isWrongMerge(deps, client, repository, event, after)),
  };
}

/**
 * Whether the sender acted through an app with a person's token, which only the event list shows (github-cases
 * 21). An event that is not listed yet proves nothing: the delivery is tried again.
 */
async function wasViaApp(
  client: Client,
  repo: RepoAddress,
  { event, after }: Question,
  senderId: number | null,
): Promise<boolean> {
  const events = await readIssueEvents(client, repo, after.number);
  const act = events.findLast(
    (listed) =>
      listed.event === event.action &&
      (event.label === null || sameLabel(listed.label ?? "", event.label)) &&
      listed.sender.id === senderId,
  );
  if (!act) throw new Error(`"${event.action}" is not in the issue's event list yet`);
  return act.viaApp;
}

/** GitHub closes issues in the merger's name; a merge into another branch than the item's is no completion. */
const SAME_MERGE_MS = 120_000;

async function isWrongMerge(
  deps: Deps,
  client: Client,
  repository: Repository,
  event: IssueEvent,
  issue: IssueSnapshot,
): Promise<boolean> {
  const record = await findRecord(deps.db, itemRef(repository.id, issue.number));
  const base = tagValue(record?.tags ?? [], "baseBranch:");
  const closedAt = (issue.closedAt ?? event.at).getTime();
  let wrong = false;
  for (const pull of await pullsNaming(deps.db, repository.id, issue.number)) {
    // The mirror may not have heard of the merge yet.
    const read = pull.open ? await readPull(client, repository, pull.number) : null;
    const mergedAt = read ? (read.merged_at ?? null) : pull.mergedAt;
    if (mergedAt === null || Math.abs(mergedAt.getTime() - closedAt) > SAME_MERGE_MS) continue;
    if ((read?.base.ref ?? pull.base) === base) return false;
    wrong = true;
  }
  return wrong;
}
