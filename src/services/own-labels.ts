/** Leasehold's own labels: that they exist, and that they are on the issues that must show them. */

import { ownLabels } from "../domain/settings.ts";
import type { Trx } from "../store/database.ts";
import { itemsNotShowing } from "../store/items.ts";
import { promise } from "../store/outbox.ts";
import type { Repository } from "../store/repositories.ts";
import { promiseLabel } from "./item-changes.ts";

/** Promises the definitions of Leasehold's own labels that the test picks. */
export async function promiseOwnLabels(
  trx: Trx,
  repository: Repository,
  isWanted: (name: string) => boolean,
): Promise<void> {
  for (const label of ownLabels(repository.settings)) {
    if (!isWanted(label.name)) continue;
    await promise(trx, {
      repositoryId: repository.id,
      issueNumber: null,
      promise: `define:${label.name.toLowerCase()}`,
      effect: { kind: "create_label", ...label },
    });
  }
}

/** Promises the label on every open item of that kind that does not show it. */
export async function promiseWhereMissing(
  trx: Trx,
  repository: Repository,
  which: "enrolled" | "gated" | "parked",
  label: string,
): Promise<void> {
  for (const number of await itemsNotShowing(trx, repository.id, which, label)) {
    await promiseLabel(trx, { repository, number }, label);
  }
}
