/** What is decided by a repository's settings is stored under the same settings, and not under those that came meanwhile. */

import { isDeepStrictEqual } from "node:util";
import { lockConfiguration } from "../store/configuration.ts";
import type { Trx } from "../store/database.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import { ChangedMeanwhile } from "./settle-delivery.ts";

/**
 * Keeps the settings from changing until the transaction ends. Call it first: a change of settings locks items after it.
 *
 * @throws ChangedMeanwhile when they are not those of `repository` any more.
 */
export async function holdSettings(trx: Trx, { id, settings }: Repository): Promise<void> {
  await lockConfiguration(trx, id);
  const now = await findRepositoryById(trx, id);
  if (now !== null && !isDeepStrictEqual(now.settings, settings)) throw new ChangedMeanwhile();
}
