/** Where the App is, as GitHub lists it: for `installation` events that were missed (github-cases 36, 37). */

import {
  listInstallations,
  listReachedRepositories,
  type ReachedRepository,
} from "../github/installations.ts";
import type { Trx } from "../store/database.ts";
import { hastenDeliveries } from "../store/inbox.ts";
import {
  type InstallationState,
  installationStates,
  markRemoved,
  markSuspended,
  repositoriesOfInstallation,
  saveInstallation,
} from "../store/installations.ts";
import { findRepositoryById, markInstalled, markUninstalled, saveRepository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";

/** One request, and one for each installation. What is known just so is left alone. */
export async function reconcileInstallations(deps: Deps): Promise<void> {
  const listed = await listInstallations(await deps.github.appClient());
  const known = new Map((await installationStates(deps.db)).map((state) => [state.id, state]));
  for (const state of known.values()) {
    if (state.removed || listed.some(({ id }) => id === state.id)) continue;
    await deps.db.transaction().execute(async (trx) => {
      await markRemoved(trx, state.id);
      await markUninstalled(trx, { installationId: state.id });
    });
  }
  for (const { id, account, suspended_at } of listed) {
    const before = known.get(id) ?? null;
    const suspended = suspended_at != null;
    // A suspended installation shows nothing.
    const reached = suspended ? null : await listReachedRepositories(await deps.github.client(id));
    const toRead = await deps.db.transaction().execute(async (trx) => {
      if (before === null || before.removed) {
        await saveInstallation(trx, {
          id,
          accountId: account?.id ?? null,
          accountLogin: account?.login ?? "ghost",
        });
      }
      if ((before?.suspended ?? false) !== suspended) await markSuspended(trx, id, suspended);
      if (before?.suspended && !suspended) await hastenDeliveries(trx, id);
      return reached === null ? [] : takeReached(trx, id, before, reached);
    });
    for (const repositoryId of toRead) deps.wake.backfill(repositoryId);
    if (before?.suspended && !suspended) deps.wake.inbox();
  }
}

/** Answers the repositories that are to be read: those that came, and all after a suspension. */
async function takeReached(
  trx: Trx,
  installationId: number,
  before: InstallationState | null,
  reached: readonly ReachedRepository[],
): Promise<number[]> {
  const ids = new Set(reached.map(({ id }) => id));
  const lost = (await repositoriesOfInstallation(trx, installationId)).filter((id) => !ids.has(id));
  if (lost.length > 0) await markUninstalled(trx, { ids: lost });
  const toRead: number[] = [];
  for (const { id, full_name } of reached) {
    const repository = await findRepositoryById(trx, id);
    const isKnown = repository?.installed && repository.installationId === installationId;
    if (isKnown && before?.suspended !== true) continue;
    const [owner = "", name = ""] = full_name.split("/");
    await saveRepository(trx, { id, owner, name }, installationId);
    await markInstalled(trx, id, installationId);
    toRead.push(id);
  }
  return toRead;
}
