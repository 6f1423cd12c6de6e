/** Carries out what an event on an issue means for its item (`domain/issue-transitions.ts` decides). */

import type { Completion } from "../domain/comments.ts";
import type { KnownItem, Transition } from "../domain/issue-transitions.ts";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";
import { itemRef } from "../domain/record-key.ts";
import { ITEM_TAG, type Priority, prioritiesOfLabels, tagValues, withTag } from "../domain/tags.ts";
import { saveBodyTrail } from "../store/body-trails.ts";
import type { Db, Trx } from "../store/database.ts";
import { priorityOfEpic } from "../store/groupings.ts";
import { closeIncidents, openIncident } from "../store/incidents.ts";
import { insertItem, noteStillOpen, setAdmission, setEnrolled } from "../store/items.ts";
import { findItemFacts } from "../store/known-items.ts";
import { labelPromise, settlePromise } from "../store/outbox.ts";
import { askPark } from "../store/parking.ts";
import { findRecord, saveRecord, setRecordTags } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import {
  cancelItem,
  completeItem,
  type ItemAt,
  parkByLabel,
  parkItem,
  promiseLabel,
  reopenItem,
  unparkItem,
} from "./item-changes.ts";
import { reviewItems } from "./item-review.ts";

export type TaggedItem = KnownItem & { readonly tags: readonly string[] };

/** The items as the decisions see them, each in its place; null: the issue is no item. */
export async function knownItems(db: Db, items: readonly ItemAt[]): Promise<(TaggedItem | null)[]> {
  const asked = items.map(({ repository: { id, settings }, number }) => ({
    repositoryId: id,
    number,
    quarantineSeconds: settings.quarantineSeconds,
  }));
  const found = await findItemFacts(db, asked);
  return items.map(({ repository }, place) => {
    const facts = found[place] ?? null;
    if (facts === null) return null;
    const { item, tags, epicPriority, isLeftAlone } = facts;
    return {
      ...item,
      tags,
      priorities: tagValues(tags, "priority:"),
      fallbackPriority: epicPriority ?? repository.settings.defaults.priority,
      isLeftAlone,
    };
  });
}

/** As `knownItems`, of one. */
export async function knownItem(db: Db, repository: Repository, number: number): Promise<TaggedItem | null> {
  const [item] = await knownItems(db, [{ repository, number }]);
  return item ?? null;
}

/** What an item has without a priority label: its epic's, else the default (protocol 2). */
const fallbackPriority = async (db: Db, { id, settings }: Repository, number: number): Promise<Priority> =>
  (await priorityOfEpic(db, id, number)) ?? settings.defaults.priority;

export interface Context {
  readonly issue: IssueSnapshot;
  /** GitHub's time. */
  readonly eventAt: Date;
  /** The deployment's. */
  readonly region: string;
  /** The merge that closed the issue, if one did. */
  readonly merge: Completion | null;
}

/** Does what the plan says, in its order. */
export async function carryOut(
  trx: Trx,
  at: ItemAt,
  plan: readonly Transition[],
  context: Context,
): Promise<void> {
  for (const transition of plan) await carryOutOne(trx, at, transition, context);
}

async function carryOutOne(
  trx: Trx,
  at: ItemAt,
  transition: Transition,
  { issue, eventAt, region, merge }: Context,
): Promise<void> {
  const { repository, number } = at;
  switch (transition.kind) {
    case "enrol":
      return enrol(trx, at, issue, { ...transition, at: eventAt, region });
    case "enrolled":
      await setEnrolled(trx, repository.id, number, transition.enrolled);
      return reviewItems(trx, repository, [number]);
    case "admit":
      await setAdmission(trx, repository.id, number, { admitted: true, by: transition.by, at: eventAt });
      // Whoever admits it vouches for its text.
      await saveBodyTrail(trx, repository.id, number, null);
      await closeIncidents(trx, repository.id, number, ["label_removed_by_agent"]);
      return settlePromise(
        trx,
        repository.id,
        labelPromise(number, repository.settings.labels.gate),
        "admitted",
      );
    case "withdraw":
      await setAdmission(trx, repository.id, number, { admitted: false, by: null, at: eventAt });
      return saveBodyTrail(trx, repository.id, number, null);
    case "add_label":
      return promiseLabel(trx, at, transition.label);
    case "agent_removed_label":
      return openIncident(trx, {
        repositoryId: repository.id,
        number,
        code: "label_removed_by_agent",
        value: transition.label,
        detail:
          `@${transition.by} removed ${transition.label}, which only a human may; it was put back, ` +
          "and stays until a human takes it off",
      });
    case "park":
      return parkItem(trx, at, parkByLabel(transition.by, eventAt));
    case "ask_park": {
      const { by } = transition;
      await askPark(trx, repository.id, number, by === null ? null : { by, at: eventAt });
      if (by !== null) return;
      await closeIncidents(trx, repository.id, number, ["label_removed_by_agent"]);
      const label = labelPromise(number, repository.settings.labels.stale);
      return settlePromise(trx, repository.id, label, "no longer asked for");
    }
    case "unpark":
      return unparkItem(trx, at, transition.by, eventAt);
    case "complete":
      return completeItem(trx, at, merge ?? { human: transition.by }, transition.at ?? eventAt);
    case "cancel":
      return cancelItem(trx, at, transition.by, transition.at ?? eventAt);
    case "reopen":
      return reopenItem(trx, at, transition.by, transition.at ?? eventAt);
    case "still_open":
      return noteStillOpen(trx, repository.id, number, transition.at);
    case "priorities": {
      const ref = itemRef(repository.id, number);
      const record = await findRecord(trx, ref);
      return setRecordTags(trx, ref, withTag(record?.tags ?? [], "priority:", transition.values));
    }
  }
}

/** Makes the item and its record, with what the repository's settings fill in for the mandatory tags. */
async function enrol(
  trx: Trx,
  { repository, number }: ItemAt,
  issue: IssueSnapshot,
  enrolment: { admitted: boolean; by: string | null; at: Date; region: string },
): Promise<void> {
  const { defaults } = repository.settings;
  const asked = prioritiesOfLabels(issue.labels);
  const priorities = asked.length > 0 ? asked : [await fallbackPriority(trx, repository, number)];
  await insertItem(trx, {
    repositoryId: repository.id,
    number,
    admitted: enrolment.admitted,
    admittedBy: enrolment.by,
    admissionAt: enrolment.at,
    createdAt: issue.createdAt,
  });
  await saveRecord(trx, itemRef(repository.id, number), {
    kind: "Note",
    title: null,
    body: null,
    author: null,
    provenance: null,
    expiresAt: null,
    writtenBy: null,
    tags: [
      ITEM_TAG,
      ...priorities.map((priority) => `priority:${priority}`),
      `phase:${defaults.phase}`,
      `homeRegion:${defaults.homeRegion ?? enrolment.region}`,
      `baseBranch:${defaults.baseBranch ?? repository.defaultBranch}`,
    ],
  });
  // Its pull request may have been there before.
  await reviewItems(trx, repository, [number]);
}
