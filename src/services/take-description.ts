/** What GitHub says of a repository as a whole when it is read, and its labels and configuration with it. */

import type { GitHubRepository } from "../contract/github-payloads.ts";
import { sameLabel } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { listLabels } from "../github/reads.ts";
import type { ReadingMode } from "../store/backfill.ts";
import { type Repository, type RepositoryIdentity, saveRepository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { followDefaultBranch } from "./follow-default-branch.ts";
import { takeLabelList } from "./label-definitions.ts";
import { configureAnew } from "./load-configuration.ts";
import { promiseOwnLabels } from "./own-labels.ts";

/** Takes up its name, default branch and whether it is archived. Answers the repository as it is then. */
export async function takeDescription(
  deps: Deps,
  repository: Repository,
  facts: GitHubRepository,
  mode: ReadingMode,
): Promise<Repository> {
  const [owner = repository.owner, name = repository.name] = facts.full_name.split("/");
  const defaultBranch = facts.default_branch ?? null;
  await followDefaultBranch(deps, repository, defaultBranch);
  const isSame =
    // Whoever announced it said less.
    mode !== "take_up" &&
    owner === repository.owner &&
    name === repository.name &&
    (defaultBranch === null || defaultBranch === repository.defaultBranch) &&
    (facts.archived ?? repository.archived) === repository.archived &&
    repository.currentName;
  if (isSame) return repository;
  const identity: RepositoryIdentity = {
    id: repository.id,
    owner,
    name,
    defaultBranch,
    archived: facts.archived ?? null,
    url: facts.html_url ?? null,
  };
  return deps.db
    .transaction()
    .execute(async (trx) => (await saveRepository(trx, identity, repository.installationId)).repository);
}

/** Takes up the definitions of labels and the configuration, before any issue is judged by them. */
export async function takeLabels(
  deps: Deps,
  client: Client,
  repository: Repository,
  mode: ReadingMode,
): Promise<void> {
  const labels = await listLabels(client, repository);
  await deps.db.transaction().execute((trx) => takeLabelList(trx, repository, labels));
  const configured = await configureAnew(deps, repository.id, mode === "take_up" ? "backfill" : "event");
  await deps.db
    .transaction()
    .execute((trx) =>
      promiseOwnLabels(trx, configured, (own) => !labels.some((label) => sameLabel(label.name, own))),
    );
}
