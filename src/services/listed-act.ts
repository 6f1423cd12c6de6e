/**
 * An event as the issue's own event list has it. The list knows what the delivery leaves out: whether a person's
 * token was used through an app (github-cases 21), and what has been done since. Deliveries come in any order
 * and carry whole seconds; the list is in order, and what it says last stands.
 */

import type { IssueEvent } from "../domain/issue-transitions.ts";
import { sameLabel } from "../domain/tags.ts";
import type { IssueEventRead } from "../github/reads.ts";

export interface ListedAct {
  readonly act: IssueEventRead;
  /** What was done to the same thing since, in order. */
  readonly since: readonly IssueEventRead[];
}

/** A delivery's time is the issue's, which may have been changed again before the delivery was written. */
const SLACK_MS = 60_000;

const UNDOES: Readonly<Record<string, string>> = {
  labeled: "unlabeled",
  unlabeled: "labeled",
  closed: "reopened",
  reopened: "closed",
};

/**
 * The event in the list; null when it is not listed, or not yet. `notBefore` is when the matter was last decided: an
 * older act of the same person is not this one, though the list may not show this one yet.
 */
export function listedAct(
  events: readonly IssueEventRead[],
  event: IssueEvent,
  senderId: number | null,
  notBefore: Date | null,
): ListedAct | null {
  const { label } = event;
  const acts = events.filter(
    (act) =>
      (act.event === event.action || act.event === UNDOES[event.action]) &&
      (label === null || sameLabel(act.label ?? "", label)),
  );
  const place = acts.findLastIndex(
    (candidate) =>
      candidate.event === event.action &&
      candidate.sender.id === senderId &&
      candidate.at.getTime() >= event.at.getTime() - SLACK_MS &&
      (notBefore === null || candidate.at >= notBefore),
  );
  const act = acts[place];
  return act ? { act, since: acts.slice(place + 1) } : null;
}
