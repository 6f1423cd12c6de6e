/**
 * What a look at the App's deliveries proves (protocol 1: the mirror fails closed). GitHub lists what it tried to deliver.
 * Where it lists all of it since the last look, and nothing failed, every repository's mirror is whole. It lists nothing of
 * what it did not try: a hook that is switched off looks like a quiet night, so silence proves nothing.
 */

export interface AuditFacts {
  /** GitHub's time. */
  readonly now: Date;
  /** The newest delivery that the last look saw; null: there was none. */
  readonly last: Date | null;
  /** The times of those listed now, in any order; only failed ones where `whole` is false. */
  readonly listed: readonly Date[];
  /** All deliveries since the last look are among them, and not only the failed ones. */
  readonly whole: boolean;
  /** All failed ones since the last look are among them. */
  readonly reached: boolean;
  /** So long a silence may be a hook that is off. */
  readonly quietMs: number;
}

export type AuditJudgement =
  /** The mirror is as whole as the last look left it. */
  | { readonly kind: "continues" }
  /** It can be vouched for since that time of GitHub's; what was before has to be read. */
  | { readonly kind: "begins"; readonly from: Date; readonly why: string }
  /** Nothing can be vouched for now. */
  | { readonly kind: "doubt"; readonly why: string };

/** GitHub forgets deliveries after three days. */
const KEPT_MS = 3 * 86_400_000;

export function judgeAudit({ now, last, listed, whole, reached, quietMs }: AuditFacts): AuditJudgement {
  const times = [...listed, ...(last === null ? [] : [last])].map((at) => at.getTime()).sort((a, b) => a - b);
  const newest = times.at(-1);
  if (newest === undefined)
    return { kind: "doubt", why: "GitHub lists no delivery: the App's webhook may be switched off" };
  if (now.getTime() - newest > quietMs) {
    const since = new Date(newest).toISOString();
    return {
      kind: "doubt",
      why: `GitHub lists no delivery since ${since}: nothing happened, or the App's webhook is switched off`,
    };
  }
  if (!reached)
    return {
      kind: "begins",
      from: now,
      why: "more deliveries failed since the last audit than are looked at",
    };
  const isTooLate = last !== null && now.getTime() - last.getTime() > KEPT_MS;
  // Of failed deliveries alone nobody can tell a silence.
  if (!whole && (last === null || isTooLate))
    return { kind: "begins", from: now, why: "nothing was audited before, or too long ago" };
  if (!whole) return { kind: "continues" };
  const known = isTooLate ? times.filter((time) => time > last.getTime()) : times;
  const after = known.findLastIndex((time, index) => time - (known[index - 1] ?? time) > quietMs);
  const from = new Date(known[Math.max(after, 0)] ?? newest);
  if (after > 0)
    return {
      kind: "begins",
      from,
      why: "in a silence before this the App's webhook may have been switched off",
    };
  return last === null || isTooLate
    ? { kind: "begins", from, why: "nothing was audited before, or too long ago" }
    : { kind: "continues" };
}
