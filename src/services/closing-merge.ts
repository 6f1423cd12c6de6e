/**
 * The merge by which GitHub closed an issue, in the merger's name: no word of a human's about the work. GitHub looks
 * at the default branch only, so that a merge or a commit there is wrong for an item of another base (protocol 8).
 */

import { itemOfBranch } from "../domain/branch-names.ts";
import { closingReferences } from "../domain/closing-keywords.ts";
import type { Completion } from "../domain/comments.ts";
import { itemRef } from "../domain/record-key.ts";
import { tagValue } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { listClosedPulls, readPull } from "../github/pull-reads.ts";
import { hostOf } from "../github/snapshots.ts";
import type { Trx } from "../store/database.ts";
import { isGroupingItem } from "../store/groupings.ts";
import { mergesSince, pullsNaming } from "../store/pulls.ts";
import { findRecord } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";

export type ClosingMerge =
  | { readonly kind: "right"; readonly pull: number; readonly base: string }
  | { readonly kind: "wrong" };

/** What the merge that closed an issue means for its item. */
export interface MergeMeaning {
  /** It completes nothing. */
  readonly isWrong: boolean;
  /** The merge as the reason of the completion; null: it is none. */
  readonly completion: Completion | null;
}

/** Of a grouping a merge says nothing (protocol 7). Off the default branch GitHub closes nothing: a human did. */
export async function meaningOfMerge(
  trx: Trx,
  repository: Repository,
  number: number,
  merge: ClosingMerge,
): Promise<MergeMeaning> {
  if (merge.kind === "wrong") return { isWrong: true, completion: null };
  const tags = (await findRecord(trx, itemRef(repository.id, number)))?.tags ?? [];
  const isGrouping = await isGroupingItem(trx, repository.id, number, tags);
  if (isGrouping) return { isWrong: merge.base === repository.defaultBranch, completion: null };
  return { isWrong: false, completion: { pull: merge.pull, base: merge.base } };
}

interface Close {
  /** Of the issue. */
  readonly number: number;
  readonly closedAt: Date;
  /** The commit that closed it, if the event list names one. */
  readonly commitId: string | null;
}

interface Merge {
  readonly number: number;
  readonly mergedAt: Date | null;
  readonly base: string | null;
}

/** GitHub closes at the time of the merge; its clocks may differ a little. */
const SAME_MERGE_MS = 120_000;

/** What becomes an item only now gets the base of the settings. Null: the record names none, or several. */
async function baseOf(
  { db }: Pick<Deps, "db">,
  { id, settings, defaultBranch }: Repository,
  number: number,
): Promise<string | null> {
  const record = await findRecord(db, itemRef(id, number));
  return record ? tagValue(record.tags, "baseBranch:") : (settings.defaults.baseBranch ?? defaultBranch);
}

/** Null: none is known, and whoever closed the issue did it by hand. */
export async function closingMerge(
  deps: Deps,
  client: Client,
  repository: Repository,
  { number, closedAt, commitId }: Close,
): Promise<ClosingMerge | null> {
  const { defaultBranch } = repository;
  const base = await baseOf(deps, repository, number);
  const merges = await mergesNaming(deps, client, repository, number);
  const isThen = ({ mergedAt }: Merge): boolean =>
    mergedAt !== null && Math.abs(mergedAt.getTime() - closedAt.getTime()) <= SAME_MERGE_MS;
  // A merge of which no news came yet must not be missed: not where GitHub's close can be wrong, nor as the reason.
  if (base !== defaultBranch || !merges.some(isThen))
    merges.push(...(await recentMergesNaming(client, repository, number)));

  const then = merges.filter(isThen);
  const right = then.find((merge) => merge.base === base);
  if (right && base !== null) return { kind: "right", pull: right.number, base };
  const isWrong = then.some((merge) => merge.base === defaultBranch) || commitId !== null;
  return isWrong && base !== defaultBranch ? { kind: "wrong" } : null;
}

/**
 * The last merge since then that completes the issue's item, as the mirror knows it: the news of it came before the issue
 * was known for an item, and comes no more.
 */
export async function mergeUnheeded(
  deps: Pick<Deps, "db">,
  repository: Repository,
  number: number,
  since: Date,
): Promise<{ merge: ClosingMerge; at: Date } | null> {
  const base = await baseOf(deps, repository, number);
  const merges = await mergesSince(deps.db, repository.id, number, since);
  const last = merges.findLast((merge) => {
    const branch = merge.head === null ? null : itemOfBranch(merge.head);
    return merge.base === base && (merge.closes || branch?.number === number);
  });
  return last ? { merge: { kind: "right", pull: last.number, base: last.base }, at: last.mergedAt } : null;
}

/** As the mirror knows them; those it holds for open are read, for it may not have heard of the merge yet. */
async function mergesNaming(
  deps: Deps,
  client: Client,
  repository: Repository,
  issue: number,
): Promise<Merge[]> {
  const merges: Merge[] = [];
  for (const pull of await pullsNaming(deps.db, repository.id, issue)) {
    if (!pull.open) {
      merges.push(pull);
      continue;
    }
    const { number, merged_at = null, base } = await readPull(client, repository, pull.number);
    merges.push({ number, mergedAt: merged_at, base: base.ref });
  }
  return merges;
}

/** As GitHub lists them: the pull requests that changed last. */
async function recentMergesNaming(client: Client, repository: Repository, issue: number): Promise<Merge[]> {
  const pulls = await listClosedPulls(client, repository);
  return pulls
    .filter(({ body, html_url }) => {
      const repo = { owner: repository.owner, name: repository.name, host: hostOf(html_url) };
      const { closes, flagged } = closingReferences(body ?? null, repo);
      // GitHub closes on what we doubt, too.
      return closes.includes(issue) || flagged.some(({ number }) => number === issue);
    })
    .map(({ number, merged_at = null, base }) => ({ number, mergedAt: merged_at, base: base.ref }));
}
