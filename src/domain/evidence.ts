/** Whether what a holder shows proves that the item is done (protocol 8, "By the holder"). */

/** A pull request as GitHub has it now; null: there is none. */
export interface PullEvidence {
  readonly number: number;
  readonly mergedAt: Date | null;
  readonly base: string;
}

/** A place that was named, as it was found. */
export type PlaceEvidence =
  | { readonly place: string; readonly found: "kept" }
  | { readonly place: string; readonly found: "missing" | "elsewhere" | "own" | "expires" | "marker" };

export type Evidence =
  | { readonly kind: "none" }
  | { readonly kind: "pull"; readonly number: number; readonly pull: PullEvidence | null }
  | { readonly kind: "durable"; readonly places: readonly PlaceEvidence[] };

export interface EvidencedItem {
  readonly number: number;
  readonly phase: string | null;
  readonly baseBranch: string | null;
  readonly createdAt: Date;
}

const WHY: Record<Exclude<PlaceEvidence["found"], "kept">, string> = {
  missing: "is not there",
  elsewhere: "is a comment on another issue",
  own: "is the item's own record",
  expires: "expires, and durable places do not",
  marker: "is a marker, and says nothing of the result",
};

/** Null: it proves it. Else what is missing, and what to do about it. */
export function missingEvidence(evidence: Evidence, item: EvidencedItem): string | null {
  switch (evidence.kind) {
    case "none":
      return item.phase === "research"
        ? "say where the result is kept: durable, with issue-comment:<id> or mem/<topic>/<id>, or the merged pullRequest"
        : "name the merged pull request: pullRequest";
    case "pull":
      return missingMerge(evidence.number, evidence.pull, item);
    case "durable":
      return missingPlaces(evidence.places, item);
  }
}

function missingMerge(number: number, pull: PullEvidence | null, item: EvidencedItem): string | null {
  if (pull === null) return `there is no pull request #${number} in this repository`;
  if (pull.mergedAt === null)
    return `pull request #${number} is not merged yet: ask again once it is. Where its text closes the item's issue by keyword, its merge completes the item by itself`;
  if (item.baseBranch === null)
    return "the item's base branch is missing or doubled; mend its baseBranch: tag first";
  if (pull.base !== item.baseBranch) {
    return `pull request #${number} was merged into ${pull.base}, and the item's base branch is ${item.baseBranch}`;
  }
  if (pull.mergedAt < item.createdAt) return `pull request #${number} was merged before there was this item`;
  return null;
}

function missingPlaces(places: readonly PlaceEvidence[], item: EvidencedItem): string | null {
  if (item.phase !== "research") {
    return "durable places complete research only; this item is completed by its merged pull request";
  }
  const bad = places.flatMap(({ place, found }) => (found === "kept" ? [] : [`${place} ${WHY[found]}`]));
  return bad.length === 0 ? null : bad.join("; ");
}
