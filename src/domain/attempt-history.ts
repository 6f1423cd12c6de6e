/** Why each grant and each marker of an item counts as an attempt, or does not (protocol 4). */

/** What is known of one fencing token. */
export interface FenceFacts {
  readonly fence: number;
  /** Null: this store made no such grant. */
  readonly grant: { readonly newAttempt: boolean; readonly undelivered: boolean } | null;
  /** Whether a trusted marker names it. */
  readonly marked: boolean;
}

const WORDS = {
  grant: "a grant that started an attempt",
  marker: "a trusted marker names it",
  marker_without_grant: "a trusted marker tells of it, but this store made no such grant",
  before_unpark: "a human unparked the item after it: attempts start afresh",
  undelivered: "the grant reached nobody, and was taken back",
  custody_unchanged: "the same owner took its own lapsed claim again, the first time in this attempt",
} as const;

export type AttemptReason = keyof typeof WORDS;
export const ATTEMPT_REASONS = Object.keys(WORDS) as [AttemptReason, ...AttemptReason[]];
const COUNTING: readonly AttemptReason[] = ["grant", "marker", "marker_without_grant"];

export interface AttemptVerdict {
  readonly counts: boolean;
  readonly reason: AttemptReason;
  readonly why: string;
}

/** Each token counts once, however many markers name it. `after`: the last token before the last unpark. */
export function judgeAttempt(facts: FenceFacts, after: number): AttemptVerdict {
  const reason = reasonOf(facts, after);
  return { counts: COUNTING.includes(reason), reason, why: WORDS[reason] };
}

function reasonOf({ fence, grant, marked }: FenceFacts, after: number): AttemptReason {
  if (fence <= after) return "before_unpark";
  if (grant === null) return "marker_without_grant";
  if (grant.newAttempt) return "grant";
  // Counted is counted: also of a grant that reached nobody, or that would not have counted by itself.
  if (marked) return "marker";
  return grant.undelivered ? "undelivered" : "custody_unchanged";
}
