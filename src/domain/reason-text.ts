/** Why an item is not offered, in words that need no code to be understood (protocol 6). Facts in, text out. */

import { type BlockerStatus, blockerName, elsewhereText, isOpen, stallText } from "./blockers.ts";
import { isHeld } from "./lease.ts";
import type { ReadyReason } from "./ready-set.ts";
import { tagValue } from "./tags.ts";
import { type ItemFacts, quarantineEnd } from "./why-not.ts";

/** What the words need beside the item. */
export interface Wording {
  readonly now: Date;
  readonly labels: { readonly gate: string; readonly stale: string };
}

const REOPENED_BY_AN_AGENT =
  "no human reopened its issue: close it, or close and reopen it as a human to bring the item back";

/** `reason`: one of those that `whyNotReady` found for the item. */
export function reasonText(reason: ReadyReason, item: ItemFacts, { now, labels }: Wording): string {
  if (reason.reason === "defect") return reason.detail;
  if (reason.reason === "blocked" && (reason.on?.length ?? 0) > 0) return blockersText(item);
  // A rule that knows more than the item's facts has said it already.
  if (reason.detail !== undefined) return reason.detail;
  switch (reason.reason) {
    case "missing":
      return "is no item of the backlog";
    case "complete":
      return item.issueOpen ? `is complete; ${REOPENED_BY_AN_AGENT}` : "is complete";
    case "parked": {
      const ruling = item.question ? `: ${item.rulingOwner ?? "somebody"} must rule: ${item.question}` : "";
      return `is parked${ruling}; a human unparks it by taking the label ${labels.stale} off`;
    }
    case "closed":
      if (item.state === "cancelled")
        return `is cancelled; ${item.issueOpen ? REOPENED_BY_AN_AGENT : "a human brings it back by reopening its issue"}`;
      return "its issue is closed, but not by a human as completed: reopen it, or close it as a human";
    case "foreign_region":
      return `its home region is ${tagValue(item.tags, "homeRegion:")}: it is claimed there`;
    case "grouping":
      return "is a grouping: its parts are worked on, not it, unless it is claimed whole (scope: subtree)";
    case "not_admitted":
      return `waits for a human with triage rights, who admits it by taking the label ${labels.gate} off`;
    case "blocked":
      return blockersText(item);
    case "in_review":
      return "its pull request waits for people or checks";
    case "poison":
      return `${item.attempts} attempts of ${item.threshold} are used up: the sweep parks it`;
    case "ancestor_claimed":
      return "an epic above it is claimed whole: who holds that works here";
    case "not_quiesced":
      return item.grouping.integrating
        ? "the integration item of its grouping is being worked on: nothing else of it is until then"
        : "integrates its grouping: the rest of that has to be complete, and nobody at work on it";
    case "quarantined": {
      const until = quarantineEnd(item, { now, region: null }).toISOString();
      return `its lease lapsed, but its work still moves: kept from others until ${until}, unless they take it over`;
    }
    case "contended":
      return isHeld(item.claim, now)
        ? `is being worked on, under a lease until ${item.claim?.leaseExpiresAt.toISOString()}`
        : "others wait in line for what it belongs to, or work below it";
    case "resource_unavailable":
      return "another item holds a resource that it needs";
    case "mirror_stale":
      return "GitHub has not been heard from for too long";
  }
}

/** What it waits for, those together that need the same of a person. */
function blockersText(item: ItemFacts): string {
  const open = item.blockers.filter(isOpen);
  const here = open.filter(({ number }) => number !== null);
  const resting: readonly BlockerStatus[] = ["stalled", "missing", "invalid"];
  const live = here.filter(({ status }) => !resting.includes(status)).map(blockerName);
  const lines = here.flatMap((blocker) => {
    const name = blockerName(blocker);
    switch (blocker.status) {
      case "stalled":
        return `${name} ${stallText(blocker)}`;
      case "missing":
        return `${name} does not exist: remove the edge or file it`;
      case "invalid":
        return `${name} carries an unknown or doubled state: tag; mend that first`;
      default:
        return [];
    }
  });
  const elsewhere = elsewhereText(open);
  return [
    ...(live.length > 0 ? [`waits for ${live.join(", ")}`] : []),
    ...lines,
    ...(elsewhere === null ? [] : [elsewhere]),
  ].join("; ");
}

/** Why an item that may be claimed is passed over all the same (protocol 6, step 11). */
export const overlapText = (others: readonly number[]): string => {
  const names = others.length > 0 ? others.map((number) => `#${number}`).join(", ") : "work out of sight";
  return `would touch the files of ${names}, in flight: claim-next passes it over; a direct claim is granted`;
};
