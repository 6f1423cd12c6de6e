/** An event on an issue: gather what the decision needs, then mirror, decide and act in one transaction. */

import type { z } from "zod";
import type { IssuesPayload } from "../contract/github-payloads.ts";
import { admissionByHistory, type LabelEvent } from "../domain/admission-history.ts";
import {
  endDecidedAt,
  type IssueEvent,
  type IssueFacts,
  isGone,
  type KnownItem,
  type ReadsNeeded,
  readsNeeded,
  transitionsOf,
} from "../domain/issue-transitions.ts";
import { type IssueDelta, type IssueSnapshot, mergeIssue } from "../domain/mirror-merge.ts";
import { knownIssue } from "../domain/plain-issue-event.ts";
import { type RepositorySettings, showsFormerGate } from "../domain/settings.ts";
import { hasLabel, sameLabel } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { isDeleted } from "../github/failure.ts";
import { type IssueEventRead, readIssueEvents } from "../github/reads.ts";
import { issueEvent, issueSnapshot, toldText } from "../github/snapshots.ts";
import { lockItem } from "../store/item-lock.ts";
import { findIssue, lockIssue, markGone, saveIssue } from "../store/mirror.ts";
import type { Repository } from "../store/repositories.ts";
import { askHuman, askStale, goesOnAsking, isOfHuman, labelActs, loginOf, senderOf } from "./ask-actor.ts";
import { keepBodyTrail } from "./body-trails.ts";
import { type ClosingMerge, closingMerge, meaningOfMerge } from "./closing-merge.ts";
import type { Deps } from "./deps.ts";
import { entomb } from "./entomb.ts";
import { followTransfer } from "./follow-transfer.ts";
import { holdSettings } from "./hold-settings.ts";
import { inheritMemory } from "./inherit-memory.ts";
import { carryOut, knownItem } from "./issue-transitions.ts";
import { knownRepository } from "./known-repository.ts";
import { type ListedAct, listedAct } from "./listed-act.ts";
import { ChangedMeanwhile, settleDelivery } from "./settle-delivery.ts";
import { clientOf } from "./supervise-requests.ts";

type Payload = z.infer<typeof IssuesPayload>;

/** Applies one `issues` delivery. Doing it again, late or out of order changes nothing more. */
export async function applyIssueEvent(deps: Deps, seq: number, payload: Payload): Promise<void> {
  const repository = await knownRepository(deps, payload);
  // Pull requests share the number space and are never items.
  if (!repository || payload.issue.pull_request) return settleDelivery(deps, seq, async () => {});
  const { number } = payload.issue;
  const incoming = issueSnapshot(payload.issue);
  const event = issueEvent(payload);

  const before = await findIssue(deps.db, repository.id, number);
  const after = mirrored(before?.issue ?? null, incoming, event);
  const item = await knownItem(deps.db, repository, number);
  const reads = readsNeeded(event, knownIssue(after), item, repository.settings);
  const asked = await gather(deps, repository, payload, {
    reads,
    event,
    after,
    notBefore: decidedAt(event, item, repository.settings),
    admissionAt: item?.admissionAt ?? null,
    isOver: item?.state === "complete" || item?.state === "cancelled",
  }).catch(nullIfDeleted);
  // The delivery that should have told of it is late or lost (github-cases 29).
  if (asked === null) return settleDelivery(deps, seq, (trx) => entomb(trx, repository, number, "deleted"));

  await settleDelivery(deps, seq, async (trx) => {
    await holdSettings(trx, repository);
    await lockItem(trx, repository.id, number);
    const stored = await lockIssue(trx, repository.id, number);
    await followTransfer(trx, repository, payload);
    if (stored?.gone) return;
    const change = mergeIssue(stored?.issue ?? null, incoming, asked.delta);
    if (change.kind === "save") await saveIssue(trx, repository.id, change.issue);
    const issue = change.kind === "save" ? change.issue : (stored?.issue ?? incoming);
    const current = await knownItem(trx, repository, number);
    const needed = readsNeeded(event, knownIssue(issue), current, repository.settings);
    if (isMore(needed, reads)) throw new ChangedMeanwhile();
    const merge = asked.merge && (await meaningOfMerge(trx, repository, number, asked.merge));
    const facts: IssueFacts = {
      event: { ...event, action: whatHappened(asked, event) },
      issue: knownIssue(issue),
      item: current,
      settings: repository.settings,
      actor: asked.actor,
      author: asked.author,
      gateIsExplained: asked.gateIsExplained,
      staleBy: asked.staleBy,
      closedFor: asked.closedFor,
      closedByWrongMerge: merge?.isWrong ?? false,
    };
    const context = { issue, eventAt: event.at, region: deps.region, merge: merge?.completion ?? null };
    await carryOut(trx, { repository, number }, transitionsOf(facts), context);
    // An agent's edit that withdraws nothing, because it is older than the admission, vouches for no text either.
    const isByAgent = event.action === "edited" && current?.admitted === true && !asked.actor.human;
    const brought = { issue, told: isByAgent ? null : toldText(payload), at: issue.updatedAt };
    await keepBodyTrail(trx, { repository, number }, stored, brought, current);
    if (current === null) await inheritMemory(trx, { repository, number });
    if (isGone(facts.event)) await markGone(trx, repository.id, number, facts.event.action);
  });
  if (item === null || item.state !== null) deps.wake.pulls();
}

function nullIfDeleted(error: unknown): null {
  if (isDeleted(error)) return null;
  throw error;
}

/** What was undone since decides nothing. */
function whatHappened(asked: Asked, event: IssueEvent): string {
  if (asked.isConverted) return "converted";
  return asked.isUndone ? "undone" : event.action;
}

function mirrored(stored: IssueSnapshot | null, incoming: IssueSnapshot, event: IssueEvent): IssueSnapshot {
  const change = mergeIssue(stored, incoming, event);
  return change.kind === "save" ? change.issue : (stored ?? incoming);
}

const isMore = (needed: ReadsNeeded, had: ReadsNeeded): boolean =>
  (needed.sender && !had.sender) ||
  (needed.author && !had.author) ||
  (needed.events && !had.events) ||
  (needed.pulls && !had.pulls) ||
  (needed.stale && !had.stale) ||
  (needed.gate && !had.gate);

interface Question {
  readonly reads: ReadsNeeded;
  readonly event: IssueEvent;
  /** The issue as the mirror will have it. */
  readonly after: IssueSnapshot;
  /** When what the event is about was last decided. */
  readonly notBefore: Date | null;
  readonly admissionAt: Date | null;
  /** The item is complete or cancelled already. */
  readonly isOver: boolean;
}

interface Asked {
  readonly actor: IssueFacts["actor"];
  readonly author: IssueFacts["author"];
  readonly gateIsExplained: boolean;
  readonly staleBy: IssueFacts["staleBy"];
  /** A later act took the event back. */
  readonly isUndone: boolean;
  /** It is a discussion now, and was closed by that (github-cases 30). */
  readonly isConverted: boolean;
  /** What the event says of the issue, beside its snapshot. */
  readonly delta: IssueDelta;
  readonly closedFor: IssueFacts["closedFor"];
  /** The merge that closed the issue, if one did. */
  readonly merge: ClosingMerge | null;
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
  const unasked: Asked = {
    actor: { login: loginOf(payload.sender), human: false },
    author: { login: after.authorLogin, human: false },
    gateIsExplained: false,
    staleBy: null,
    isUndone: false,
    isConverted: false,
    delta: event,
    closedFor: null,
    merge: null,
  };
  const installationId = payload.installation?.id ?? repository.installationId;
  if (!Object.values(reads).some(Boolean) || installationId === null) return unasked;

  const client = await clientOf(deps, installationId);
  const { settings } = repository;
  const isHuman = reads.sender && (await askHuman(client, repository, sender, false, settings));
  // The list cannot turn an agent into a human; but whoever closed the issue may have made a discussion of it.
  const decides = isHuman || !reads.sender;
  const isListed = reads.events && (decides || (event.action === "closed" && !question.isOver));
  const acts = isListed ? await readIssueEvents(client, repository, after.number) : [];
  const isConverted =
    event.action === "closed" && acts.some((act) => act.event === "converted_to_discussion");
  const listed = reads.events && decides ? findListed(acts, question, sender.id) : null;
  const isUndone = listed !== null && (await wasUndone(client, repository, event, listed, acts));
  return {
    actor: { ...unasked.actor, human: isHuman && listed?.act.viaApp !== true },
    author: reads.author ? await askAuthor(client, repository, event, after) : unasked.author,
    gateIsExplained: reads.gate && (await isGateExplained(client, repository, question)),
    staleBy: reads.stale ? await askStale(client, repository, after.number) : null,
    isUndone,
    isConverted,
    delta: listed === null ? event : deltaOf(listed, event),
    closedFor: listed?.act.stateReason ?? null,
    merge:
      reads.pulls && !isUndone
        ? await closingMerge(deps, client, repository, {
            number: after.number,
            closedAt: (after.open ? listed?.act.at : after.closedAt) ?? event.at,
            commitId: listed?.act.commitId ?? null,
          })
        : null,
  };
}

function decidedAt(event: IssueEvent, item: KnownItem | null, { labels }: RepositorySettings): Date | null {
  if (item === null) return null;
  if (event.label === null) return endDecidedAt(item);
  return sameLabel(event.label, labels.gate) ? item.admissionAt : item.stateEventAt;
}

/** An event that is not listed yet proves nothing, and is tried again; but what closes the gate never waits. */
function findListed(
  acts: readonly IssueEventRead[],
  { reads, event, notBefore }: Question,
  senderId: number | null,
): ListedAct | null {
  const listed = listedAct(acts, event, senderId, notBefore);
  // What is older than the last decision decides nothing, listed or not.
  const isLate = notBefore !== null && event.at < notBefore;
  if (listed === null && reads.sender && !isLate) {
    throw new Error(`"${event.action}" is not in the issue's event list yet`);
  }
  return listed;
}

/** Whether a later act that may do so took the event back: a human's, and of the gate's label whoever put it on. */
async function wasUndone(
  client: Client,
  repository: Repository,
  { label }: IssueEvent,
  { act, since }: ListedAct,
  acts: readonly IssueEventRead[],
): Promise<boolean> {
  const isGate = label !== null && sameLabel(label, repository.settings.labels.gate);
  // A label from while the issue was closed says nothing of what a human reopened since.
  if (act.event === "labeled" && sameLabel(act.label ?? "", repository.settings.labels.stale)) {
    if (!(await goesOnAsking(client, repository, acts, act))) return true;
  }
  for (const later of since.toReversed()) {
    const counts = (isGate && later.event === "labeled") || (await isOfHuman(client, repository, later));
    if (counts) return later.event !== act.event;
  }
  return false;
}

/** For a label what its list says last; a state that was changed back leaves the mirror to the later event. */
function deltaOf({ act, since }: ListedAct, event: IssueEvent): IssueDelta {
  const last = since.at(-1) ?? act;
  if (event.label !== null) return { action: last.event, label: event.label };
  return last.event === act.event ? event : { action: null, label: null };
}

/** Whether a human vouches for an issue that becomes an item: its author, or who removed the gate label before. */
async function askAuthor(
  client: Client,
  repository: Repository,
  event: IssueEvent,
  issue: IssueSnapshot,
): Promise<IssueFacts["author"]> {
  const { settings } = repository;
  const author = { id: issue.authorId, login: issue.authorLogin, type: issue.authorType };
  const human =
    !showsFormerGate(issue.labels, settings) &&
    (await askHuman(client, repository, author, issue.viaAppId !== null, settings));
  const history = admissionByHistory({
    author: { login: issue.authorLogin, human },
    labelPresent: hasLabel(issue.labels, settings.labels.gate),
    // Nothing has happened to an issue that was just opened.
    events: event.action === "opened" ? [] : await readGateActs(client, repository, issue.number),
  });
  return { login: history.by, human: history.admitted };
}

const readGateActs = async (client: Client, repository: Repository, number: number): Promise<LabelEvent[]> =>
  labelActs(
    client,
    repository,
    await readIssueEvents(client, repository, number),
    repository.settings.labels.gate,
  );

/** Whether the event list says why the gate label is not seen: it is on again, or a human took it off since. */
async function isGateExplained(
  client: Client,
  repository: Repository,
  { after, admissionAt }: Question,
): Promise<boolean> {
  const [last] = await readGateActs(client, repository, after.number);
  if (last === undefined) return false;
  return last.action === "labeled" || (last.human && (admissionAt === null || last.at >= admissionAt));
}
