/** The App's installations: on which account, and whether it is suspended or was removed. */

import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

export interface InstallationState {
  readonly id: number;
  readonly suspended: boolean;
  readonly removed: boolean;
}

export async function installationStates(db: Db): Promise<InstallationState[]> {
  const rows = await db.selectFrom("installation").select(["id", "suspended_at", "removed_at"]).execute();
  return rows.map((row) => ({
    id: row.id,
    suspended: row.suspended_at !== null,
    removed: row.removed_at !== null,
  }));
}

export async function saveInstallation(
  trx: Trx,
  installation: { id: number; accountId: number | null; accountLogin: string },
): Promise<void> {
  const facts = {
    account_id: installation.accountId,
    account_login: installation.accountLogin,
    removed_at: null,
  };
  await trx
    .insertInto("installation")
    .values({ id: installation.id, ...facts })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(facts))
    .execute();
}

export async function markSuspended(trx: Trx, installationId: number, suspended: boolean): Promise<void> {
  await trx
    .updateTable("installation")
    .set({ suspended_at: suspended ? dbNow : null })
    .where("id", "=", installationId)
    .execute();
}

export async function markRemoved(trx: Trx, installationId: number): Promise<void> {
  await trx.updateTable("installation").set({ removed_at: dbNow }).where("id", "=", installationId).execute();
}

/** Repositories that were reached through an installation, whether they are now or not. */
export async function repositoriesOfInstallation(db: Db, installationId: number): Promise<number[]> {
  const rows = await db
    .selectFrom("repository")
    .select("id")
    .where("installation_id", "=", installationId)
    .where("installed", "=", true)
    .execute();
  return rows.map((row) => row.id);
}
