/**
 * What the check `leasehold/claim` says of a pull request (protocol 8, "The claim check"). Made a required check, it
 * stops a superseded worker's work at the merge, where no fencing token reaches.
 */

export const CLAIM_CHECK = "leasehold/claim";

export interface CheckedItem {
  readonly number: number;
  readonly admitted: boolean;
  readonly parked: boolean;
  /** The highest token granted on it; null: none ever was. */
  readonly mark: number | null;
  /** The latest tokens of subtree claims above it, which work below may be done under. */
  readonly marksAbove: readonly number[];
  /** The commit that its resume block names, and the token that it was recorded under. */
  readonly recorded: { readonly sha: string; readonly fence: number } | null;
}

export interface CheckedPull {
  readonly head: string;
  /** Who pushed the head is a human with write access. */
  readonly byHuman: boolean;
  /** The items whose own it is: at least one. */
  readonly items: readonly CheckedItem[];
}

type Standing = "recorded" | "superseded" | "parked" | "not_admitted" | "not_recorded";

export interface ClaimCheck {
  readonly conclusion: "success" | "failure";
  readonly reason: Standing | "by_human";
  readonly title: string;
  readonly summary: string;
}

/** One item that its worker may not merge for fails the whole; otherwise one whose worker vouches for the head is enough. */
export function claimCheck({ head, byHuman, items }: CheckedPull): ClaimCheck {
  if (byHuman) {
    return {
      conclusion: "success",
      reason: "by_human",
      title: "Pushed by a human with write access",
      summary: `A human with write access pushed the head commit ${short(head)}.`,
    };
  }
  const judged = items.map((item) => ({ item, standing: standingOf(item, head) }));
  for (const wanted of ["not_admitted", "parked", "superseded", "recorded"] as const) {
    const found = judged.find(({ standing }) => standing === wanted);
    if (found) return say(found.standing, found.item, head);
  }
  const [first] = judged;
  if (!first) throw new RangeError("a pull request of no item has no claim check");
  return say("not_recorded", first.item, head);
}

function standingOf(item: CheckedItem, head: string): Standing {
  if (!item.admitted) return "not_admitted";
  if (item.parked) return "parked";
  const { recorded, mark, marksAbove } = item;
  // A sha may be recorded in short.
  if (recorded === null || !head.startsWith(recorded.sha)) return "not_recorded";
  const isBelowEpic = marksAbove.includes(recorded.fence) && recorded.fence > (mark ?? 0);
  return recorded.fence === mark || isBelowEpic ? "recorded" : "superseded";
}

const short = (sha: string): string => `\`${sha.slice(0, 10)}\``;

const HUMAN = "A human with write access may push to the branch instead: that makes this check succeed.";

function say(reason: Standing, item: CheckedItem, head: string): ClaimCheck {
  const it = `#${item.number}`;
  const record =
    "records it as `lastLocation.sha` in the item's resume block (`PATCH …/items/" +
    `${item.number}\`), under the fencing token of the claim.`;
  switch (reason) {
    case "recorded":
      return {
        conclusion: "success",
        reason,
        title: `Recorded under the latest claim on ${it}`,
        summary: `The head commit ${short(head)} was recorded under fencing token ${item.recorded?.fence}, the latest that was granted for ${it}.`,
      };
    case "superseded":
      return {
        conclusion: "failure",
        reason,
        title: `Superseded: ${it} was claimed again`,
        summary: `The head commit ${short(head)} was recorded under fencing token ${item.recorded?.fence}, and a later claim on ${it} was granted since. Whoever holds it now looks at this work; if it is to be merged, the holder ${record}\n\n${HUMAN}`,
      };
    case "parked":
      return {
        conclusion: "failure",
        reason,
        title: `${it} is parked`,
        summary: `Nothing goes on with ${it} until a human unparks it, by removing the label that parks it from the issue.\n\n${HUMAN}`,
      };
    case "not_admitted":
      return {
        conclusion: "failure",
        reason,
        title: `${it} is not admitted`,
        summary: `No human has admitted ${it}, or its admission was withdrawn. A human with triage rights admits it by removing the label from the issue that says so.\n\n${HUMAN}`,
      };
    case "not_recorded":
      return {
        conclusion: "failure",
        reason,
        title: "The head commit is not recorded under a claim",
        summary: `Nobody recorded the head commit ${short(head)} under a claim on ${it}. The item's holder ${record}${item.mark === null ? ` ${it} was never claimed: claim it first.` : ""}\n\n${HUMAN}`,
      };
  }
}
