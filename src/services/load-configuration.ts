/**
 * Takes up `.github/leasehold.yml` (protocol 12): read from the default branch as it is now, outside any transaction,
 * then judged against the settings in force and stored with what follows from it. What was read is dropped if another
 * look came between.
 */

import { CONFIGURATION_PATH } from "../contract/configuration.ts";
import type { Sender } from "../domain/human.ts";
import { type Authority, changeSettings, loosensGuard } from "../domain/settings-change.ts";
import type { Client } from "../github/connection.ts";
import { type FileRead, isSameFile, readFile } from "../github/files.ts";
import { databaseNow } from "../store/clock.ts";
import {
  findConfiguration,
  nextConfigurationVersion,
  saveConfiguration,
  saveConfigurationProblems,
  saveSettings,
} from "../store/configuration.ts";
import type { Trx } from "../store/database.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import { askHuman } from "./ask-actor.ts";
import type { Deps } from "./deps.ts";
import { followSettings } from "./follow-settings.ts";
import {
  MAX_CONFIGURATION_BYTES,
  type ParsedConfiguration,
  parseConfiguration,
} from "./parse-configuration.ts";
import { ChangedMeanwhile } from "./settle-delivery.ts";
import { clientOf } from "./supervise-requests.ts";

export interface Push {
  readonly kind: "push";
  /** `unknown`: whether the file is among what was pushed is not told. */
  readonly touched: "yes" | "unknown";
  /** The branch's commit before; null when the branch is new. */
  readonly before: string | null;
  readonly after: string;
  readonly sender: Sender;
  readonly pusher: string | null;
  /** GitHub's time. */
  readonly at: Date | null;
}

export type Cause = Push | { readonly kind: "backfill" } | { readonly kind: "default_branch" };

export interface Look {
  /** The version of what was known when GitHub was asked. */
  readonly version: number;
  /** Null: it is not this look's to take, only to have whoever is at it look again. */
  readonly parsed: ParsedConfiguration | null;
  readonly by: Authority;
  /** GitHub's time of the push; null: there was none, or GitHub does not say. */
  readonly at: Date | null;
}

/** Reads the file. Null: there is nothing to look for (the App was never installed), or not there any more. */
export async function lookAtConfiguration(
  deps: Deps,
  repository: Repository,
  branch: string,
  cause: Cause,
): Promise<Look | null> {
  const { installationId } = repository;
  const state = await findConfiguration(deps.db, repository.id);
  if (state === null || installationId === null) return null;
  // The first look is the backfill's.
  if (!state.known && cause.kind !== "backfill")
    return { version: state.version, parsed: null, by: "unknown", at: null };
  const client = await clientOf(deps, installationId);
  const file = await read(client, repository, branch);
  // A branch renamed since: the event that tells of it looks by itself. GitHub names it to a backfill just now.
  if (file.kind === "no_ref" && cause.kind !== "backfill") return null;
  const parsed = parsedFile(file);
  return {
    version: state.version,
    parsed,
    by: await authorityOf(client, repository, { cause, file, parsed, isFirst: !state.known }),
    at: cause.kind === "push" ? cause.at : null,
  };
}

const read = (client: Client, repository: Repository, ref: string): Promise<FileRead> =>
  readFile(client, repository, CONFIGURATION_PATH, { ref, maxBytes: MAX_CONFIGURATION_BYTES });

function parsedFile(file: FileRead): ParsedConfiguration {
  if (file.kind === "unusable") return { kind: "invalid", problems: [file.why] };
  return parseConfiguration(file.kind === "text" ? file.text : null);
}

interface Found {
  readonly cause: Cause;
  readonly file: FileRead;
  readonly parsed: ParsedConfiguration;
  readonly isFirst: boolean;
}

/** After the first look only a push can be a human's; asked where it matters. */
async function authorityOf(
  client: Client,
  repository: Repository,
  { cause, file, parsed, isFirst }: Found,
): Promise<Authority> {
  if (isFirst) return "installer";
  if (cause.kind !== "push" || parsed.kind === "invalid") return "unknown";
  const isHuman =
    loosensGuard(repository.settings, parsed.settings) &&
    (await isPushedByHuman(client, repository, file, cause));
  return isHuman ? "human" : "unknown";
}

async function isPushedByHuman(
  client: Client,
  repository: Repository,
  file: FileRead,
  { sender, pusher, touched, before, after }: Push,
): Promise<boolean> {
  // They differ where it was not the sender who pushed (a deploy key of theirs, say).
  if (pusher?.toLowerCase() !== sender.login?.toLowerCase()) return false;
  if (!(await askHuman(client, repository, sender, false, repository.settings))) return false;
  // Somebody pushed over it since: that push is judged by itself.
  if (!isSameFile(await read(client, repository, after), file)) return false;
  if (touched === "yes" || before === null) return true;
  const had = await read(client, repository, before);
  return had.kind !== "no_ref" && !isSameFile(had, file);
}

/**
 * Stores what was found, in the caller's transaction. True: the repository has to be read again, and its backfill woken
 * after the commit.
 *
 * @throws ChangedMeanwhile when another look came between; look again.
 */
export async function takeConfiguration(
  trx: Trx,
  { id }: Repository,
  { version, parsed, by, at }: Look,
  during: "backfill" | "event" = "event",
): Promise<boolean> {
  const isNext = await nextConfigurationVersion(trx, id, version);
  if (!isNext) throw new ChangedMeanwhile();
  const repository = await findRepositoryById(trx, id);
  if (parsed === null || repository === null) return false;
  if (parsed.kind === "invalid") {
    await saveConfigurationProblems(trx, id, parsed.problems);
    return false;
  }
  // It is compared with the times of GitHub's events: our clock is only better than none.
  const since = at ?? (await databaseNow(trx));
  const { settings, held } = changeSettings(repository.settings, parsed.settings, { by, at: since });
  await saveConfiguration(trx, id, { problems: [], held });
  await saveSettings(trx, id, settings);
  return followSettings(trx, { ...repository, settings }, { before: repository.settings, at: since, during });
}

/**
 * Looks before a reading judges the first issue. Answers the repository as it is configured then. `during` an event: of
 * what is open not all is read, so that a change that makes items of other issues begins a backfill.
 *
 * @throws ChangedMeanwhile when another look came between; look again.
 */
export async function configureAnew(
  deps: Deps,
  repositoryId: number,
  during: "backfill" | "event",
): Promise<Repository> {
  const repository = await findRepositoryById(deps.db, repositoryId);
  if (repository === null) throw new Error("the repository is not known any more");
  const look = await lookAtConfiguration(deps, repository, repository.defaultBranch, { kind: "backfill" });
  if (look === null) return repository;
  await deps.db.transaction().execute((trx) => takeConfiguration(trx, repository, look, during));
  return (await findRepositoryById(deps.db, repositoryId)) ?? repository;
}
