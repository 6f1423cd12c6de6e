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
import { askHuman, labelActs } from "./ask-actor.ts";
import { type ClosingMerge, closingMerge, type MergeMeaning, meaningOfMerge } from "./closing-merge.ts";
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
  const ended = await lastStateAct(deps, client, repository, issue, events);

  const plan = async (trx: Trx, meaning: MergeMeaning | null): Promise<Transition[]> =>
    planFromHistory({
      issue: knownIssue(issue),
      item: await knownItem(trx, repository, number),
      settings,
      admission,
      wasOpen,
      bodyChanged,
      gate: gateActs.at(-1) ?? null,
      stale: staleActs.at(-1) ?? null,
      ended: ended && { ...ended.act, byWrongMerge: meaning?.isWrong ?? false },
      pending: {
        gate: await isUnconfirmed(trx, repository.id, labelPromise(number, gate)),
        stale: await isUnconfirmed(trx, repository.id, labelPromise(number, stale)),
        state:
          (await isUnconfirmed(trx, repository.id, `close:${number}`)) ||
          (await isUnconfirmed(trx, repository.id, `reopen:${number}`)),
      },
    });
  return {
    converted: ended?.act.converted ?? false,
    apply: async (trx) => {
      for (let step = 0; step < MOST_STEPS; step++) {
        const meaning = ended?.merge ? await meaningOfMerge(trx, repository, number, ended.merge) : null;
        const next = await plan(trx, meaning);
        const context = {
          issue,
          eventAt: issue.updatedAt,
          region: deps.region,
          merge: meaning?.completion ?? null,
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
}

/** What counts of the closes and reopenings; null: nothing does. Who did it is asked only where it still holds. */
async function lastStateAct(
  deps: Deps,
  client: Client,
  repository: Repository,
  issue: IssueSnapshot,
  events: readonly IssueEventRead[],
): Promise<LastStateAct | null> {
  const isHuman = ({ sender, viaApp }: IssueEventRead): Promise<boolean> =>
    askHuman(client, repository, sender, viaApp, repository.settings);
  const conversion = events.find(({ event }) => event === "converted_to_discussion");
  const acts = events.filter(({ event }) => event === "closed" || event === "reopened");
  let overruled = false;
  while (!conversion && issue.open && acts.at(-1)?.event === "reopened" && acts.length > 1) {
    if (await isHuman(acts.at(-1) as IssueEventRead)) break;
    overruled = true;
    acts.pop();
  }
  const act = conversion ?? acts.at(-1);
  if (!act) return null;
  const isClosed = act.event === "closed" && (!issue.open || overruled);
  const counts = isClosed || (act.event === "reopened" && issue.open);
  const human = counts && (await isHuman(act));
  return {
    act: {
      action: act.event === "reopened" ? "reopened" : "closed",
      reason: act.stateReason,
      overruled,
      login: act.sender.login,
      human,
      at: act.at,
      converted: conversion !== undefined,
    },
    merge:
      human && isClosed
        ? await closingMerge(deps, client, repository, { issue, commitId: act.commitId })
        : null,
  };
}
