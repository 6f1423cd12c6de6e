/** Asks GitHub for what an issue's history says of its item, where no event told, or none may be relied on. */

import { admissionByHistory } from "../domain/admission-history.ts";
import { planFromHistory, type StateAct } from "../domain/history-plan.ts";
import { isWanted, type Transition } from "../domain/issue-transitions.ts";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";
import { knownIssue } from "../domain/plain-issue-event.ts";
import { showsFormerGate } from "../domain/settings.ts";
import { hasLabel } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { type IssueEventRead, readIssueEvents } from "../github/reads.ts";
import type { Trx } from "../store/database.ts";
import { isUnconfirmed, labelPromise } from "../store/outbox.ts";
import type { Repository } from "../store/repositories.ts";
import {
  askHuman,
  isAbout,
  isOfHuman,
  labelActs,
  labelEvent,
  lastOfHuman,
  lastStaleOfHuman,
} from "./ask-actor.ts";
import { type ClosingMerge, closingMerge, meaningOfMerge, mergeUnheeded } from "./closing-merge.ts";
import type { Deps } from "./deps.ts";
import { inheritMemory } from "./inherit-memory.ts";
import { carryOut, knownItem } from "./issue-transitions.ts";

export interface HistoryQuestion {
  readonly issue: IssueSnapshot;
  /** It may become an item though it is closed: it was opened since the App came. */
  readonly wasOpen: boolean;
  /** The body is another than the mirror's, and no event told of it. */
  readonly bodyChanged: boolean;
}

export interface History {
  /** It is a discussion now. */
  readonly converted: boolean;
  /** Brings the item to what the history says; under the item's lock. */
  apply(trx: Trx): Promise<void>;
}

/** An item that becomes one, is parked, ends and comes back takes a few steps; more would be a fault. */
const MOST_STEPS = 4;

const UNASKED: History = { converted: false, apply: async () => {} };

/** Asks now; what follows is decided under the item's lock. */
export async function askHistory(
  deps: Deps,
  client: Client,
  repository: Repository,
  { issue, wasOpen, bodyChanged }: HistoryQuestion,
): Promise<History> {
  const { settings } = repository;
  const { gate, stale } = settings.labels;
  const { number } = issue;
  const before = await knownItem(deps.db, repository, number);
  const becomes = before === null && isWanted(issue, settings) && (issue.open || wasOpen);
  if (before === null && !becomes) return UNASKED;

  const author = { id: issue.authorId, login: issue.authorLogin, type: issue.authorType };
  const events = await readIssueEvents(client, repository, number);
  const gateActs = await labelActs(client, repository, events, gate);
  const admission = admissionByHistory({
    author: {
      login: issue.authorLogin,
      human:
        becomes &&
        !showsFormerGate(issue.labels, settings) &&
        (await askHuman(client, repository, author, issue.viaAppId !== null, settings)),
    },
    labelPresent: hasLabel(issue.labels, gate),
    events: gateActs,
  });
  const staleActs = await labelActs(client, repository, events, stale);
  const staleByHuman = await lastStaleOfHuman(client, repository, events);
  const isLive = before === null || before.state === null || before.state === "parked";
  const acted =
    (isLive ? await endedByAgentsMerge(deps, client, repository, issue, events) : null) ??
    (await lastStateAct(deps, client, repository, issue, events));
  // Also of an item to which nothing has happened: it may have become one after the news of the merge.
  const isNew = becomes || (before?.state === null && before.stateEventAt === null);
  const merged =
    isNew && wasOpen ? await endedBeforeItWasKnown(deps, client, repository, issue, events) : null;
  const isMergedLast = merged !== null && (acted === null || acted.act.at < merged.act.at);
  /** What decides the item's end: of a grouping no merge does. */
  const decide = async (trx: Trx) => {
    if (isMergedLast && merged?.merge) {
      const meaning = await meaningOfMerge(trx, repository, number, merged.merge);
      if (meaning.completion !== null) return { ended: merged, meaning };
    }
    const meaning = acted?.merge ? await meaningOfMerge(trx, repository, number, acted.merge) : null;
    return { ended: acted, meaning };
  };

  const plan = async (
    trx: Trx,
    { ended, meaning }: Awaited<ReturnType<typeof decide>>,
  ): Promise<Transition[]> =>
    planFromHistory({
      issue: knownIssue(issue),
      item: await knownItem(trx, repository, number),
      settings,
      admission,
      wasOpen,
      bodyChanged,
      gate: gateActs.at(-1) ?? null,
      stale: staleActs.at(-1) ?? null,
      staleByHuman: staleByHuman && labelEvent(staleByHuman, true),
      ended: ended && {
        ...ended.act,
        byWrongMerge: ended.isOnlyMerge ? !meaning?.completion : (meaning?.isWrong ?? false),
      },
      pending: {
        gate: await isUnconfirmed(trx, repository.id, labelPromise(number, gate)),
        stale: await isUnconfirmed(trx, repository.id, labelPromise(number, stale)),
        state:
          (await isUnconfirmed(trx, repository.id, `close:${number}`)) ||
          (await isUnconfirmed(trx, repository.id, `reopen:${number}`)),
      },
    });
  return {
    converted: acted?.act.converted ?? false,
    apply: async (trx) => {
      for (let step = 0; step < MOST_STEPS; step++) {
        const decided = await decide(trx);
        const next = await plan(trx, decided);
        const context = {
          issue,
          eventAt: issue.updatedAt,
          region: deps.region,
          merge: decided.meaning?.completion ?? null,
        };
        await carryOut(trx, { repository, number }, next, context);
        // What is only promised to GitHub is promised once.
        if (next.every(({ kind }) => kind === "add_label" || kind === "agent_removed_label")) break;
      }
      if (before === null) await inheritMemory(trx, { repository, number });
    },
  };
}

interface LastStateAct {
  readonly act: Omit<StateAct, "byWrongMerge">;
  readonly merge: ClosingMerge | null;
  /** No human closed it: it counts for the merge alone. */
  readonly isOnlyMerge?: boolean;
}

/** Longer than from a merge to the close that GitHub does because of it. */
const MERGE_CLOSES_MS = 120_000;

/**
 * The merge of an agent's that closed an issue before anybody heard that it was an item: the merge was no news any more
 * when it became one. Not where a human reopened the issue just before: who knows what the last close was about.
 */
async function endedByAgentsMerge(
  deps: Deps,
  client: Client,
  repository: Repository,
  { number, open }: IssueSnapshot,
  events: readonly IssueEventRead[],
): Promise<LastStateAct | null> {
  const last = events.findLast(({ event }) => event === "closed" || event === "reopened");
  if (open || last?.event !== "closed" || (await isOfHuman(client, repository, last))) return null;
  const reopened = events.filter(
    ({ event, at }) => event === "reopened" && last.at.getTime() - at.getTime() <= MERGE_CLOSES_MS,
  );
  if ((await lastOfHuman(client, repository, reopened)) !== null) return null;
  const close = { number, closedAt: last.at, commitId: last.commitId };
  const merge = await closingMerge(deps, client, repository, close);
  return merge?.kind === "right" ? { act: stateAct(last, false), merge, isOnlyMerge: true } : null;
}

/**
 * A merge that the mirror had heard of before it heard that the issue is an item, whoever closed the issue when: it
 * completes the item if it came after the issue got the label, and after a human's last reopening.
 */
async function endedBeforeItWasKnown(
  deps: Deps,
  client: Client,
  repository: Repository,
  { number, createdAt }: IssueSnapshot,
  events: readonly IssueEventRead[],
): Promise<LastStateAct | null> {
  const { enrollAll, labels } = repository.settings;
  const enrolled = enrollAll ? undefined : events.findLast(isAbout(labels.backlog));
  const reopened = await lastOfHuman(
    client,
    repository,
    events.filter(({ event }) => event === "reopened"),
  );
  const since = Math.max(createdAt.getTime(), enrolled?.at.getTime() ?? 0, reopened?.at.getTime() ?? 0);
  const unheeded = await mergeUnheeded(deps, repository, number, new Date(since));
  if (unheeded === null) return null;
  const act = {
    action: "closed",
    reason: "completed",
    overruled: true,
    login: null,
    converted: false,
  } as const;
  return { act: { ...act, at: unheeded.at }, merge: unheeded.merge, isOnlyMerge: true };
}

/** What counts of the closes and reopenings: a human's last, whatever agents did since; null: nothing does. */
async function lastStateAct(
  deps: Deps,
  client: Client,
  repository: Repository,
  issue: IssueSnapshot,
  events: readonly IssueEventRead[],
): Promise<LastStateAct | null> {
  const conversion = events.find(({ event }) => event === "converted_to_discussion");
  if (conversion) return { act: stateAct(conversion, false), merge: null };
  const acts = events.filter(({ event }) => event === "closed" || event === "reopened");
  const act = await lastOfHuman(client, repository, acts);
  if (act === null) return null;
  const overruled = act !== acts.at(-1);
  if (act.event === "reopened") return { act: stateAct(act, overruled), merge: null };
  // A close that came before the issue was an item ends no item that it became since.
  if (overruled && !wasWanted(events, act, repository.settings)) return null;
  const closedAt = (overruled ? null : issue.closedAt) ?? act.at;
  const close = { number: issue.number, closedAt, commitId: act.commitId };
  return { act: stateAct(act, overruled), merge: await closingMerge(deps, client, repository, close) };
}

const stateAct = (act: IssueEventRead, overruled: boolean): Omit<StateAct, "byWrongMerge"> => ({
  action: act.event === "reopened" ? "reopened" : "closed",
  reason: act.stateReason,
  overruled,
  login: act.sender.login,
  at: act.at,
  converted: act.event === "converted_to_discussion",
});

/** Whether the issue had the label that makes it an item then. Whoever opens an issue with it may not be listed. */
function wasWanted(
  events: readonly IssueEventRead[],
  then: IssueEventRead,
  { enrollAll, labels }: Repository["settings"],
): boolean {
  if (enrollAll) return true;
  const acts = events.filter(isAbout(labels.backlog));
  const before = acts.findLast((act) => events.indexOf(act) < events.indexOf(then));
  return before === undefined ? acts[0]?.event !== "labeled" : before.event === "labeled";
}
