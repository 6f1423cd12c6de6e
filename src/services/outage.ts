/** What callers are told when PostgreSQL is away, or too busy: nobody's mistake, and worth another try. */

import { Problem } from "../contract/problem.ts";
import { isBrokenOff, isConnectionLost, isReadOnly } from "../store/failure.ts";

/** How soon another try may help. */
const AWAY_MS = 1_000;
const BUSY_MS = 200;

/** The refusal for a failure of PostgreSQL; null when the failure is something else. */
export function outageOf(error: unknown): Problem | null {
  if (isConnectionLost(error)) {
    return new Problem(
      "unavailable",
      "the database does not answer, and whether this was still done is not known; send it again in a moment",
      { retryAfterMs: AWAY_MS },
    );
  }
  if (isBrokenOff(error)) {
    return new Problem(
      "unavailable",
      "too many changed the same records at once; nothing was done, send it again",
      {
        retryAfterMs: BUSY_MS,
      },
    );
  }
  if (isReadOnly(error)) {
    return new Problem(
      "unavailable",
      "the database accepts no writes now, as a standby does until it is promoted; send it again in a moment",
      { retryAfterMs: AWAY_MS },
    );
  }
  return null;
}
