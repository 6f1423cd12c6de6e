/** What is known of a repository's configuration file (protocol 12). The settings in force are `repository.settings`. */

import { sql } from "kysely";
import type { RepositorySettings } from "../domain/settings.ts";
import type { Db, Trx } from "./database.ts";

export interface ConfigurationState {
  /** Whether the file was ever looked for. */
  readonly known: boolean;
  readonly version: number;
}

/** Null: the App was never installed on the repository. */
export async function findConfiguration(db: Db, repositoryId: number): Promise<ConfigurationState | null> {
  const row = await db
    .selectFrom("configuration")
    .select(["known", "version"])
    .where("repository_id", "=", repositoryId)
    .executeTakeFirst();
  return row ?? null;
}

/** Goes to the next version if this is still the last, and locks the row. False: another look came between. */
export async function nextConfigurationVersion(
  trx: Trx,
  repositoryId: number,
  version: number,
): Promise<boolean> {
  const row = await trx
    .updateTable("configuration")
    .set({ version: version + 1 })
    .where("repository_id", "=", repositoryId)
    .where("version", "=", version)
    .returning("version")
    .executeTakeFirst();
  return row !== undefined;
}

/** Keeps others from taking up another configuration until the transaction ends; any number may do so at once. */
export async function lockConfiguration(trx: Trx, repositoryId: number): Promise<void> {
  await lockConfigurations(trx, [repositoryId]);
}

/** As `lockConfiguration`, of several repositories. */
export async function lockConfigurations(trx: Trx, repositoryIds: readonly number[]): Promise<void> {
  await sql`
    select version from configuration where repository_id = any (${[...repositoryIds]}::bigint[])
    order by repository_id for share`.execute(trx);
}

/** What the look found: `problems` of an invalid file, `held` of a valid one. */
export async function saveConfiguration(
  trx: Trx,
  repositoryId: number,
  { problems, held }: { problems: readonly string[]; held: readonly string[] },
): Promise<void> {
  await trx
    .updateTable("configuration")
    .set({ known: true, problems: [...problems], held: [...held] })
    .where("repository_id", "=", repositoryId)
    .execute();
}

/** The file is invalid: what is held back of the last valid one stays held back. */
export async function saveConfigurationProblems(
  trx: Trx,
  repositoryId: number,
  problems: readonly string[],
): Promise<void> {
  await trx
    .updateTable("configuration")
    .set({ known: true, problems: [...problems] })
    .where("repository_id", "=", repositoryId)
    .execute();
}

export async function saveSettings(
  trx: Trx,
  repositoryId: number,
  settings: RepositorySettings,
): Promise<void> {
  await trx
    .updateTable("repository")
    .set({ settings: JSON.stringify(settings) })
    .where("id", "=", repositoryId)
    .execute();
}

/**
 * The gate has another label, since then by GitHub's clock. Nobody is admitted by that: what was done to the new label before, when it was none of
 * ours, decides nothing, and an item that shows it is not admitted any more.
 */
export async function moveGate(trx: Trx, repositoryId: number, label: string, at: Date): Promise<void> {
  await sql`
    update item i set admission_at = greatest(i.admission_at, ${at}::timestamptz)
    where i.repository_id = ${repositoryId} and not i.admitted`.execute(trx);
  await sql`
    update item i set admitted = false, admitted_by = null, admission_at = greatest(i.admission_at, ${at}::timestamptz)
    from issue s
    where i.repository_id = ${repositoryId} and i.admitted
      and s.repository_id = i.repository_id and s.number = i.number
      and exists (select 1 from unnest(s.labels) as has where lower(has) = lower(${label}))`.execute(trx);
}

/** Parked items have another label, since then by GitHub's clock. Nobody is unparked by what was done to it before. */
export async function moveStale(trx: Trx, repositoryId: number, at: Date): Promise<void> {
  await sql`
    update item set state_event_at = greatest(state_event_at, ${at}::timestamptz)
    where repository_id = ${repositoryId} and state = 'parked'`.execute(trx);
}

/** A label is no label of ours any more: what was to be put on issues is not, where GitHub does not have it yet. */
export async function dropLabelPromises(trx: Trx, repositoryId: number, label: string): Promise<void> {
  await sql`
    update outbox set state = 'done', finished_at = db_now(), error = 'the configuration names another label'
    where repository_id = ${repositoryId} and state = 'pending' and kind = 'add_label'
      and lower(payload ->> 'label') = lower(${label})`.execute(trx);
}
