import { describe, expect, it } from "vitest";
import { type CheckSuiteFacts, type Checks, checksOf } from "../../src/domain/pull-checks.ts";

const suite = (
  status: string,
  conclusion: string | null = null,
  runs: number | null = null,
): CheckSuiteFacts => ({ status, conclusion, runs });
const green = suite("completed", "success");
const red = suite("completed", "failure");
const running = suite("in_progress");
/** GitHub makes one, without any check in it, for every app that may write checks. */
const empty = suite("queued");

describe("checksOf", () => {
  it.each<[string, CheckSuiteFacts[], Checks]>([
    ["nothing", [], "none"],
    ["an empty suite", [empty], "none"],
    ["a green suite", [green], "green"],
    ["a green suite beside an empty one", [green, empty], "green"],
    ["a skipped suite", [suite("completed", "skipped")], "green"],
    ["a neutral suite", [suite("completed", "neutral")], "green"],
    ["a red suite", [red], "red"],
    ["a red suite beside a green one", [green, red], "red"],
    ["a red suite beside one that runs", [running, red], "red"],
    ["a suite that runs", [running], "pending"],
    ["a green suite beside one that runs", [green, running], "pending"],
    ["a suite that was cancelled", [suite("completed", "cancelled")], "red"],
    ["a suite that timed out", [suite("completed", "timed_out")], "red"],
    ["a suite that needs somebody to act", [suite("completed", "action_required")], "red"],
    ["a suite that ended without saying how", [suite("completed", null)], "none"],
  ])("%s", (_, suites, wanted) => expect(checksOf(suites)).toBe(wanted));
});
