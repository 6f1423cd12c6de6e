/** The repository that a delivery is about, made known if it was not. */

import type { z } from "zod";
import type { Envelope } from "../contract/github-payloads.ts";
import {
  findRepositoryById,
  markHeard,
  markInstalled,
  type Repository,
  saveInstallation,
  saveRepository,
} from "../store/repositories.ts";
import type { Deps } from "./deps.ts";

type About = Pick<z.infer<typeof Envelope>, "repository" | "installation">;

/**
 * Finds the repository of a payload. One that was never heard of (its `installation` event is late or lost) is
 * taken up and backfilled. A known one is not changed: an old payload may carry an old name.
 */
export async function knownRepository(deps: Deps, payload: About): Promise<Repository | null> {
  const about = payload.repository;
  if (!about) return null;
  const known = await findRepositoryById(deps.db, about.id);
  if (known) {
    await markHeard(deps.db, known.id);
    return known;
  }
  const [owner = "", name = ""] = about.full_name.split("/");
  const installationId = payload.installation?.id ?? null;
  const saved = await deps.db.transaction().execute(async (trx) => {
    if (installationId !== null) {
      await saveInstallation(trx, {
        id: installationId,
        accountId: about.owner?.id ?? null,
        accountLogin: owner,
      });
    }
    const identity = {
      id: about.id,
      owner,
      name,
      defaultBranch: about.default_branch ?? null,
      archived: about.archived ?? null,
      url: about.html_url ?? null,
    };
    const { repository } = await saveRepository(trx, identity, installationId);
    if (installationId !== null) await markInstalled(trx, repository.id, installationId);
    return repository;
  });
  await markHeard(deps.db, saved.id);
  if (installationId !== null) deps.wake.backfill(saved.id);
  return { ...saved, installed: installationId !== null };
}
