/**
 * Reconciling: what events did not tell is read from GitHub, from where the last reading ended (protocol 1, 3). It is due
 * where the audit of deliveries cannot vouch for the mirror, and once a day as a whole.
 */

import { Problem } from "../contract/problem.ts";
import { askForReading, dueReadings } from "../store/backfill.ts";
import { findRepositoryById } from "../store/repositories.ts";
import { backfill } from "./backfill.ts";
import type { Deps } from "./deps.ts";

/** How many are begun at one look: the others are due at the next. */
const MOST_AT_ONCE = 200;

/** Begins the readings that are due. */
export async function startDueReadings(deps: Deps, reconcileSeconds: number): Promise<void> {
  if (!deps.github.isUsable) return;
  for (const { id, mode } of await dueReadings(deps.db, reconcileSeconds, MOST_AT_ONCE)) {
    if (await askForReading(deps.db, id, mode)) deps.wake.backfill(id);
  }
}

/**
 * Reconciles one repository now, to its end: `since` the last reading, or `all` of it, which finds also what is gone.
 *
 * @throws Problem `unavailable` when it cannot be read now: not installed, suspended, being read, or GitHub failed.
 */
export async function reconcileRepository(
  deps: Deps,
  repositoryId: number,
  mode: "since" | "all" = "since",
): Promise<void> {
  const name = `repository ${repositoryId}`;
  if (!(await askForReading(deps.db, repositoryId, mode)))
    throw new Problem("unavailable", `${name} cannot be read just now: see its state in GET /health`);
  await backfill(deps, repositoryId, new AbortController().signal);
  const after = await findRepositoryById(deps.db, repositoryId);
  if (after?.backfillPending)
    throw new Problem(
      "unavailable",
      `${name} could not be read to the end: see GET /health; it goes on by itself`,
    );
}
