/** The repository that a delivery is about, made known if it was not. */

import type { z } from "zod";
import type { Envelope } from "../contract/github-payloads.ts";
import { saveInstallation } from "../store/installations.ts";
import {
  findRepositoryById,
  findRepositoryByName,
  markInstalled,
  type Repository,
  saveRepository,
} from "../store/repositories.ts";
import type { Deps } from "./deps.ts";

type About = Pick<z.infer<typeof Envelope>, "repository" | "installation">;

/** Another repository has the name that ours had, and ours is not known yet: asking GitHub would ask about the other. */
class NameUnknown extends Error {
  constructor({ id, owner, name }: Repository) {
    super(`repository ${id} is not ${owner}/${name} any more; its new name is not known yet`);
    this.name = "NameUnknown";
  }
}

/** As `makeKnown`; a repository whose name is not known now is none to ask GitHub about, and the delivery waits. */
export async function knownRepository(deps: Deps, payload: About): Promise<Repository | null> {
  const repository = await makeKnown(deps, payload);
  if (repository && !repository.currentName) throw new NameUnknown(repository);
  return repository;
}

/**
 * Finds the repository of a payload. One that was never heard of (its `installation` event is late or lost) is
 * taken up and backfilled. A known one is not changed, for an old payload may carry an old name; unless another
 * took its name: then any name that nobody has is better.
 */
export async function makeKnown(deps: Deps, payload: About): Promise<Repository | null> {
  const about = payload.repository;
  if (!about) return null;
  const [owner = "", name = ""] = about.full_name.split("/");
  const known = await findRepositoryById(deps.db, about.id);
  if (known) {
    if (known.currentName || (await findRepositoryByName(deps.db, owner, name))) return known;
    const identity = { id: known.id, owner, name };
    return (await deps.db.transaction().execute((trx) => saveRepository(trx, identity, null))).repository;
  }
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
  if (installationId !== null) deps.wake.backfill(saved.id);
  return { ...saved, installed: installationId !== null };
}
