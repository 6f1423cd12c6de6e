/** What the checks of a commit say together (protocol 6, "Its own pull request"). Leasehold's own never count. */

export interface CheckSuiteFacts {
  readonly status: string | null;
  readonly conclusion: string | null;
  /** How many runs it holds; null: not told. */
  readonly runs: number | null;
}

export type Checks = "none" | "pending" | "green" | "red";

const GREEN: readonly string[] = ["success", "neutral", "skipped"];

/**
 * One red check is enough; one that is not done leaves it open. GitHub makes an empty suite, forever `queued`, for
 * every app that may write checks, so that a suite without a conclusion counts only once it runs or holds runs.
 */
export function checksOf(suites: readonly CheckSuiteFacts[]): Checks {
  const concluded = suites.filter((suite) => suite.status === "completed");
  if (concluded.some(({ conclusion }) => conclusion !== null && !GREEN.includes(conclusion))) return "red";
  const isOpen = ({ status, runs }: CheckSuiteFacts): boolean =>
    status === "in_progress" || (status !== "completed" && (runs ?? 0) > 0);
  if (suites.some(isOpen)) return "pending";
  return concluded.some(({ conclusion }) => conclusion !== null) ? "green" : "none";
}
