/** What the checker complains about. */

import type { RecordName } from "./history.ts";

export const RULES = [
  "two_holders",
  "token_not_increasing",
  "token_issued_twice",
  "write_below_mark",
  "write_without_token",
  "write_after_release",
  "write_with_unissued_token",
  "renewed_after_end",
  "refused_without_cause",
  "lease_not_as_granted",
  "grant_lost",
  "grant_from_nowhere",
  "waiter_overtaken",
  "overtaken_by_hasty",
  "phantom_waiter",
  "write_lost",
  "mark_wrong",
] as const;

export type Rule = (typeof RULES)[number];

export interface Violation {
  readonly rule: Rule;
  readonly record: RecordName;
  /** What happened, for a person. */
  readonly detail: string;
  /** The exchanges that show it. */
  readonly exchanges: readonly string[];
}

/** A few lines a violation; the same rule many times over is shown a few times. */
export function describeViolations(violations: readonly Violation[], most = 5): string {
  const lines: string[] = [];
  for (const rule of RULES) {
    const found = violations.filter((violation) => violation.rule === rule);
    if (found.length === 0) continue;
    lines.push(`${rule}: ${found.length}`);
    for (const { record, detail, exchanges } of found.slice(0, most))
      lines.push(`  ${record}: ${detail} [${exchanges.join(", ")}]`);
  }
  return lines.join("\n");
}
