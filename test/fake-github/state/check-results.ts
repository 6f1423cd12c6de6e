import type { Repository } from "./model.ts";

export type CheckResult = "success" | "pending" | "failure";

/** One result for each check run and each status context of a commit. */
export function latestConclusions(repository: Repository, sha: string): CheckResult[] {
  const results: CheckResult[] = [];
  for (const suite of repository.checkSuites) {
    if (suite.headSha !== sha) continue;
    for (const run of suite.runs) results.push(conclude(run.status === "completed" ? run.conclusion : null));
  }
  const contexts = new Map<string, CheckResult>();
  for (const status of repository.statuses) {
    if (status.sha === sha) contexts.set(status.context, conclude(status.state));
  }
  return [...results, ...contexts.values()];
}

function conclude(conclusion: string | null): CheckResult {
  switch (conclusion) {
    case null:
    case "pending":
      return "pending";
    case "success":
    case "neutral":
    case "skipped":
      return "success";
    default:
      return "failure";
  }
}
