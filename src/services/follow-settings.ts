/** What follows when a repository's settings change (protocol 12). */

import type { RepositorySettings } from "../domain/settings.ts";
import { sameLabel } from "../domain/tags.ts";
import { restartBackfill } from "../store/backfill.ts";
import { dropLabelPromises, moveGate, moveStale } from "../store/configuration.ts";
import type { Trx } from "../store/database.ts";
import type { Repository } from "../store/repositories.ts";
import { promiseOwnLabels, promiseWhereMissing } from "./own-labels.ts";

/**
 * Items stay what they are under other label names: those that wait for a human, are parked or enrolled get the new
 * label, and nobody is admitted or unparked by it. Where other issues become items the repository is read again: true,
 * unless a backfill is at it. Thresholds count at the next judgement, defaults at the next enrolment, and who was
 * admitted before its author became an agent stays admitted.
 */
export async function followSettings(
  trx: Trx,
  repository: Repository,
  { before, at, during }: { before: RepositorySettings; at: Date; during: "backfill" | "event" },
): Promise<boolean> {
  const { labels, enrollAll } = repository.settings;
  const moved = (["backlog", "gate", "stale"] as const).filter(
    (key) => !sameLabel(before.labels[key], labels[key]),
  );
  for (const key of moved) await dropLabelPromises(trx, repository.id, before.labels[key]);
  for (const key of moved) await moveLabel(trx, repository, key, at);
  await promiseOwnLabels(trx, repository, (name) => moved.some((key) => labels[key] === name));
  if (during === "backfill" || (moved.length === 0 && enrollAll === before.enrollAll)) return false;
  await restartBackfill(trx, repository.id);
  return true;
}

async function moveLabel(
  trx: Trx,
  repository: Repository,
  key: "backlog" | "gate" | "stale",
  at: Date,
): Promise<void> {
  const { labels, enrollAll } = repository.settings;
  switch (key) {
    case "gate":
      await moveGate(trx, repository.id, labels.gate, at);
      return promiseWhereMissing(trx, repository, "gated", labels.gate);
    case "stale":
      await moveStale(trx, repository.id, at);
      return promiseWhereMissing(trx, repository, "parked", labels.stale);
    case "backlog":
      return enrollAll ? undefined : promiseWhereMissing(trx, repository, "enrolled", labels.backlog);
  }
}
