/**
 * In which order GitHub is told what was promised, when not all of it can be told at once. What is more urgent goes
 * first, but what waits ages: nobody is ever overtaken by what was promised more than half an hour later.
 */

/** What can be done on GitHub. */
export type EffectKind =
  | "comment"
  | "claim_marker"
  | "release_outcome"
  | "add_label"
  | "close_issue"
  | "reopen_issue"
  | "add_sub_issue"
  | "add_blocked_by"
  | "check_run"
  | "create_label";

/** Ends an item or lets it end; marks an attempt; only shows on GitHub what the store knows anyway. */
export type Urgency = "completion" | "marker" | "cosmetic";

export const URGENCY: Readonly<Record<EffectKind, Urgency>> = {
  comment: "completion",
  close_issue: "completion",
  reopen_issue: "completion",
  // A merge waits for it.
  check_run: "completion",
  claim_marker: "marker",
  release_outcome: "marker",
  add_label: "cosmetic",
  add_sub_issue: "cosmetic",
  add_blocked_by: "cosmetic",
  create_label: "cosmetic",
};

/** For so many seconds a promise lets more urgent ones pass. */
export const GIVES_WAY_SECONDS: Readonly<Record<Urgency, number>> = {
  completion: 0,
  marker: 600,
  cosmetic: 1800,
};

export interface Waiting {
  readonly repositoryId: number;
  readonly id: number;
  /** Promises of one issue are kept in the order in which they were made; null: those about no issue. */
  readonly issueNumber: number | null;
  readonly kind: EffectKind;
  readonly createdAt: Date;
  readonly nextTryAt: Date;
}

/** The smaller, the sooner. Does not depend on the time, so that the order of two never changes. */
export const rankOf = ({ kind, createdAt }: Pick<Waiting, "kind" | "createdAt">): number =>
  createdAt.getTime() + GIVES_WAY_SECONDS[URGENCY[kind]] * 1000;

/**
 * What is written next: the oldest promise of the issue that has the most urgent one, so that a completion is not held
 * up by the marker that has to come before it. Null: nothing is due.
 */
export function nextToWrite<Promised extends Waiting>(
  waiting: readonly Promised[],
  now: Date,
): Promised | null {
  const lines = Map.groupBy(waiting, ({ repositoryId, issueNumber }) => `${repositoryId}/${issueNumber}`);
  let best: { head: Promised; rank: number } | null = null;
  for (const line of lines.values()) {
    const head = line.reduce((first, other) => (other.id < first.id ? other : first));
    if (head.nextTryAt > now) continue;
    const rank = Math.min(...line.map(rankOf));
    if (best === null || rank < best.rank || (rank === best.rank && head.id < best.head.id))
      best = { head, rank };
  }
  return best?.head ?? null;
}
