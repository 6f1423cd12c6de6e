/** Finds the repository that a request names, or says what to do about its absence. */

import { Problem } from "../contract/problem.ts";
import type { RepositoryName } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import type { Trx } from "../store/database.ts";
import { createLocalRepository, type Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";

export async function repositoryByName(deps: Deps, { owner, name }: RepositoryName): Promise<Repository> {
  const repository = await deps.names.find(deps.db, { owner, name });
  if (repository) return repository;
  throw new Problem(
    "not_found",
    deps.github.app === null
      ? `${owner}/${name} is not known here. No GitHub App is configured: write a memory record to it to begin, or open /setup`
      : `${owner}/${name} is not known here. Install the GitHub App on it, or check the spelling`,
  );
}

/**
 * The repository, if the caller may see it; null: nobody knows it, and the caller is not bound to certain ones. Throws
 * `scope_forbidden`, also for a name that is not known: a token for some repositories learns nothing of others.
 */
export async function repositoryInSight(
  deps: Deps,
  { repositories }: View,
  { owner, name }: RepositoryName,
): Promise<Repository | null> {
  const repository = await deps.names.find(deps.db, { owner, name });
  if (repositories === null || (repository && repositories.has(repository.id))) return repository;
  throw new Problem("scope_forbidden", `this token is not for the repository ${owner}/${name}`);
}

/**
 * As the first, but without an App the first write makes the repository, so that memory works from the first
 * minute. Made in the write's own transaction: a write that is refused leaves none behind.
 */
export async function repositoryForWriting(trx: Trx, deps: Deps, name: RepositoryName): Promise<Repository> {
  const repository = await deps.names.find(trx, name);
  if (repository || deps.github.app !== null) return repository ?? repositoryByName(deps, name);
  return createLocalRepository(trx, name.owner, name.name);
}
