/** Takes up an issue that Leasehold itself opened: mirror row, item and record, in the caller's transaction. */

import { type IssueSnapshot, mergeIssue } from "../domain/mirror-merge.ts";
import { itemRef } from "../domain/record-key.ts";
import { hasLabel, MANDATORY_PREFIXES, withTag } from "../domain/tags.ts";
import type { Trx } from "../store/database.ts";
import { lockIssue, saveIssue } from "../store/mirror.ts";
import { addLinks, findRecord, type RecordLink, setRecordTags } from "../store/records.ts";
import { keepBodyTrail } from "./body-trails.ts";
import type { Deps } from "./deps.ts";
import { carryOut, knownItem } from "./issue-transitions.ts";
import type { ItemAt } from "./item-changes.ts";
import { gone } from "./open-issue.ts";

export interface TakenUp {
  readonly issue: IssueSnapshot;
  /** One that stands for a mandatory tag takes the place of the default. */
  readonly tags: readonly string[];
  readonly links: readonly RecordLink[];
}

/**
 * The caller holds the record's lock. The issue's own webhook may have made the item before, and it will change nothing
 * when it comes after. The item is not admitted, unless a human has taken the gate label off by now.
 */
export async function takeUpIssue(
  trx: Trx,
  deps: Deps,
  at: ItemAt,
  { issue, tags, links }: TakenUp,
): Promise<void> {
  const { repository, number } = at;
  const stored = await lockIssue(trx, repository.id, number);
  if (stored?.gone) throw gone(number);
  const change = mergeIssue(stored?.issue ?? null, issue, { action: null, label: null });
  if (change.kind === "save") {
    await saveIssue(trx, repository.id, change.issue);
    const brought = { issue: change.issue, told: null, at: change.issue.updatedAt };
    if (stored !== null) await keepBodyTrail(trx, at, stored, brought);
  }
  const current = change.kind === "save" ? change.issue : (stored?.issue ?? issue);
  if ((await knownItem(trx, repository, number)) === null) {
    const context = { issue: current, eventAt: current.updatedAt, region: deps.region, merge: null };
    await carryOut(trx, at, [{ kind: "enrol", admitted: false, by: null }], context);
    const { gate } = repository.settings.labels;
    if (!hasLabel(current.labels, gate))
      await carryOut(trx, at, [{ kind: "add_label", label: gate }], context);
  }
  const ref = itemRef(repository.id, number);
  const before = (await findRecord(trx, ref))?.tags ?? [];
  await setRecordTags(trx, ref, tags.reduce(withOne, [...before]));
  await addLinks(trx, ref, links);
}

function withOne(tags: string[], tag: string): string[] {
  const prefix = MANDATORY_PREFIXES.find((mandatory) => tag.startsWith(mandatory));
  if (prefix !== undefined) return withTag(tags, prefix, [tag.slice(prefix.length)]);
  return tags.includes(tag) ? tags : [...tags, tag];
}
