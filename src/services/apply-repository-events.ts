/** What GitHub says of a repository as a whole: its address, labels, branches, and whether the App reaches it. */

import type { z } from "zod";
import type {
  InstallationPayload,
  InstallationRepositoriesPayload,
  LabelPayload,
  RepositoryPayload,
} from "../contract/github-payloads.ts";
import { sameLabel } from "../domain/tags.ts";
import { askForReading } from "../store/backfill.ts";
import type { Trx } from "../store/database.ts";
import { hastenDeliveries } from "../store/inbox.ts";
import {
  markRemoved,
  markSuspended,
  repositoriesOfInstallation,
  saveInstallation,
} from "../store/installations.ts";
import { deleteLabel, findLabelName, saveLabel } from "../store/mirror.ts";
import { isNewDescription, markInstalled, markUninstalled, saveRepository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { followDefaultBranch } from "./follow-default-branch.ts";
import { knownRepository, makeKnown } from "./known-repository.ts";
import { renameLabel } from "./label-definitions.ts";
import { lookAtConfiguration, takeConfiguration } from "./load-configuration.ts";
import { promiseOwnLabels } from "./own-labels.ts";
import { settleDelivery } from "./settle-delivery.ts";

/** `installation`: the App was put on an account, taken off it, or suspended. */
export async function applyInstallation(
  deps: Deps,
  seq: number,
  payload: z.infer<typeof InstallationPayload>,
): Promise<void> {
  const { id } = payload.installation;
  const toBackfill: number[] = [];
  await settleDelivery(deps, seq, async (trx) => {
    switch (payload.action) {
      case "created":
        await rememberInstallation(trx, payload.installation);
        toBackfill.push(...(await install(trx, id, payload.repositories ?? [])));
        return;
      case "deleted":
        await markRemoved(trx, id);
        return markUninstalled(trx, { installationId: id });
      case "suspend":
        return markSuspended(trx, id, true);
      case "unsuspend":
        await markSuspended(trx, id, false);
        await hastenDeliveries(trx, id);
        for (const repository of await repositoriesOfInstallation(trx, id)) {
          await markInstalled(trx, repository, id);
          toBackfill.push(repository);
        }
        return;
      default:
        return;
    }
  });
  for (const repository of toBackfill) deps.wake.backfill(repository);
  if (payload.action === "unsuspend") deps.wake.inbox();
}

/** `installation_repositories`: the App may reach other repositories of an account than before. */
export async function applyInstallationRepositories(
  deps: Deps,
  seq: number,
  payload: z.infer<typeof InstallationRepositoriesPayload>,
): Promise<void> {
  const { id } = payload.installation;
  let added: number[] = [];
  await settleDelivery(deps, seq, async (trx) => {
    await rememberInstallation(trx, payload.installation);
    added = await install(trx, id, payload.repositories_added ?? []);
    const removed = (payload.repositories_removed ?? []).map((repository) => repository.id);
    if (removed.length > 0) await markUninstalled(trx, { ids: removed });
  });
  for (const repository of added) deps.wake.backfill(repository);
}

const rememberInstallation = (
  trx: Trx,
  installation: z.infer<typeof InstallationPayload>["installation"],
): Promise<void> =>
  saveInstallation(trx, {
    id: installation.id,
    accountId: installation.account?.id ?? null,
    accountLogin: installation.account?.login ?? "ghost",
  });

async function install(
  trx: Trx,
  installationId: number,
  repositories: readonly { id: number; full_name: string }[],
): Promise<number[]> {
  for (const { id, full_name } of repositories) {
    const [owner = "", name = ""] = full_name.split("/");
    await saveRepository(trx, { id, owner, name }, installationId);
    await markInstalled(trx, id, installationId);
  }
  return repositories.map((repository) => repository.id);
}

/** `repository`: renamed, transferred, archived, given another default branch, deleted. */
export async function applyRepository(
  deps: Deps,
  seq: number,
  payload: z.infer<typeof RepositoryPayload>,
): Promise<void> {
  const { repository } = payload;
  const known = await makeKnown(deps, payload);
  const to = repository.default_branch ?? null;
  const isMoved = known !== null && payload.action === "edited" && to !== null && to !== known.defaultBranch;
  if (isMoved) await followDefaultBranch(deps, known, to);
  // Nobody pushed what now is the configuration: whoever chose the branch did not change the file.
  // Asked for by a name that is another's by now, GitHub would show the other's file.
  const isAskable = isMoved && known.currentName;
  const look = isAskable ? await lookAtConfiguration(deps, known, to, { kind: "default_branch" }) : null;
  let isReadAgain = false;
  let isToReconcile = false;
  await settleDelivery(deps, seq, async (trx) => {
    if (payload.action === "deleted") return markUninstalled(trx, { ids: [repository.id] });
    const at = repository.updated_at;
    if (at && !(await isNewDescription(trx, repository.id, at))) return;
    const [owner = "", name = ""] = repository.full_name.split("/");
    const saved = await saveRepository(
      trx,
      {
        id: repository.id,
        owner,
        name,
        defaultBranch: repository.default_branch ?? null,
        archived: repository.archived ?? null,
        url: repository.html_url ?? null,
      },
      payload.installation?.id ?? null,
    );
    if (look !== null) isReadAgain = await takeConfiguration(trx, saved.repository, look);
    // What was promised meanwhile goes out now; what was missed is read (github-cases 35).
    if (known?.archived && repository.archived === false)
      isToReconcile = await askForReading(trx, repository.id, "all");
  });
  if (isReadAgain || isToReconcile) deps.wake.backfill(repository.id);
  if (isMoved) deps.wake.anchors();
}

/** `label`: a definition was made, changed or deleted. Our own are made again: a maintainer steers by them. */
export async function applyLabel(
  deps: Deps,
  seq: number,
  payload: z.infer<typeof LabelPayload>,
): Promise<void> {
  const repository = await knownRepository(deps, payload);
  await settleDelivery(deps, seq, async (trx) => {
    const { id, name, color = null, description = null } = payload.label;
    if (!repository || id == null) return;
    if (payload.action === "deleted") {
      await deleteLabel(trx, repository.id, id);
      return promiseOwnLabels(trx, repository, (own) => sameLabel(own, name));
    }
    const before = await findLabelName(trx, repository.id, id);
    await saveLabel(trx, repository.id, { id, name, color, description });
    if (before !== null && before !== name) await renameLabel(trx, repository, before, name);
  });
}
