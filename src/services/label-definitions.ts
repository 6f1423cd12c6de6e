/** Definitions of labels: renamed and deleted ones of our own are made again, for a maintainer steers by them. */

import type { GitHubLabel } from "../contract/github-payloads.ts";
import { sameLabel } from "../domain/tags.ts";
import type { Trx } from "../store/database.ts";
import {
  deleteLabel,
  labelsOf,
  removeLabelFromIssues,
  renameLabelOnIssues,
  saveLabel,
} from "../store/mirror.ts";
import type { Repository } from "../store/repositories.ts";
import { promiseOwnLabels, promiseWhereMissing } from "./own-labels.ts";

/** Renaming a label of ours admits and unparks nothing: it is made again, and put where it must show. */
export async function renameLabel(trx: Trx, repository: Repository, from: string, to: string): Promise<void> {
  await renameLabelOnIssues(trx, repository.id, from, to);
  if (sameLabel(from, to)) return;
  await promiseOwnLabels(trx, repository, (own) => sameLabel(own, from));
  const { gate, stale } = repository.settings.labels;
  const which = sameLabel(from, gate) ? "gated" : sameLabel(from, stale) ? "parked" : null;
  if (which === null) return;
  await promiseWhereMissing(trx, repository, which, which === "gated" ? gate : stale);
}

/** Takes up the definitions as GitHub lists them: all that there are. What the mirror has just so is left alone. */
export async function takeLabelList(
  trx: Trx,
  repository: Repository,
  listed: readonly GitHubLabel[],
): Promise<void> {
  const known = await labelsOf(trx, repository.id);
  const ids = new Set(listed.map(({ id }) => id));
  for (const { id, name } of known) if (!ids.has(id)) await loseLabel(trx, repository, id, name);
  for (const { id, name, color = null, description = null } of listed) {
    if (id == null) continue;
    const before = known.find((label) => label.id === id);
    const isSame = before?.name === name && before.color === color && before.description === description;
    if (isSame) continue;
    await saveLabel(trx, repository.id, { id, name, color, description });
    if (before && before.name !== name) await renameLabel(trx, repository, before.name, name);
  }
}

/**
 * Whoever deletes a definition takes the label off every issue, which the issues' event lists then tell of each; it
 * admits and unparks none of them (github-cases 19). So ours is promised where it must show before any list is read.
 */
async function loseLabel(trx: Trx, repository: Repository, id: number, name: string): Promise<void> {
  await deleteLabel(trx, repository.id, id);
  await removeLabelFromIssues(trx, repository.id, name);
  await promiseOwnLabels(trx, repository, (own) => sameLabel(own, name));
  const { gate, stale } = repository.settings.labels;
  if (sameLabel(name, gate)) await promiseWhereMissing(trx, repository, "gated", gate);
  if (sameLabel(name, stale)) await promiseWhereMissing(trx, repository, "parked", stale);
}
