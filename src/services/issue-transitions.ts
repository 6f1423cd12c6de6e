/** Carries out what an event on an issue means for its item (`domain/issue-transitions.ts` decides). */

import type { Completion } from "../domain/comments.ts";
import type { KnownIssue, KnownItem, Transition } from "../domain/issue-transitions.ts";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";
import { itemRef } from "../domain/record-key.ts";
import { ITEM_TAG, prioritiesOfLabels, tagValues, withTag } from "../domain/tags.ts";
import { isLeftAlone } from "../domain/why-not.ts";
import type { Db, Trx } from "../store/database.ts";
import { findItemView } from "../store/item-facts.ts";
import {
  askPark,
  closeIncidents,
  findItem,
  insertItem,
  noteStillOpen,
  openIncident,
  setAdmission,
  setEnrolled,
} from "../store/items.ts";
import { labelPromise, settlePromise } from "../store/outbox.ts";
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

/** The item as the decision sees it, or null. */
export async function knownItem(
  db: Db,
  repository: Repository,
  number: number,
): Promise<(KnownItem & { readonly tags: readonly string[] }) | null> {
  const item = await findItem(db, repository.id, number);
  if (!item) return null;
  const found = await findItemView(db, repository.id, number, repository.settings);
  const tags = found?.item.facts.tags ?? [];
  return {
    ...item,
    tags,
    priorities: tagValues(tags, "priority:"),
    isLeftAlone: found !== null && isLeftAlone(found.item.facts, found.now),
  };
}

export const knownIssue = (issue: IssueSnapshot): KnownIssue => ({
  open: issue.open,
  stateReason: issue.stateReason,
  labels: issue.labels,
});

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
      await closeIncidents(trx, repository.id, number, ["label_removed_by_agent"]);
      return settlePromise(
        trx,
        repository.id,
        labelPromise(number, repository.settings.labels.gate),
        "admitted",
      );
    case "withdraw":
      return setAdmission(trx, repository.id, number, { admitted: false, by: null, at: eventAt });
    case "add_label":
      return promiseLabel(trx, at, transition.label);
    case "agent_removed_label":
      return openIncident(trx, {
        repositoryId: repository.id,
        number,
        code: "label_removed_by_agent",
        value: transition.label,
        detail: `@${transition.by} removed ${transition.label}, which only a human may; it was put back`,
      });
    case "park":
      return parkItem(trx, at, parkByLabel(transition.by, eventAt));
    case "ask_park":
      return askPark(
        trx,
        repository.id,
        number,
        transition.by === null ? null : { by: transition.by, at: eventAt },
      );
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
  const priorities = asked.length > 0 ? asked : [defaults.priority];
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
