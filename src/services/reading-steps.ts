/**
 * The steps of reading a repository, each one page: labels first, then issues, comments, what is gone, pull requests,
 * branches, and the blockers that nothing listed.
 */

import { isDeepStrictEqual } from "node:util";
import { itemRef } from "../domain/record-key.ts";
import type { Client } from "../github/connection.ts";
import { isAbsent } from "../github/failure.ts";
import { readIssue } from "../github/link-reads.ts";
import { listOpenPulls, listPullsByChange, readPull } from "../github/pull-reads.ts";
import { type Listing, listComments, listIssues } from "../github/reads.ts";
import { commentSnapshot, issueOfComment, issueSnapshot } from "../github/snapshots.ts";
import {
  type BackfillCursor,
  noteSeen,
  type ReadingMode,
  unseenComments,
  unseenIssues,
} from "../store/backfill.ts";
import { type CommentSnapshot, findComment, saveComment } from "../store/comments.ts";
import { pollsLinks } from "../store/delivery-audit.ts";
import { isDataError } from "../store/failure.ts";
import { findIssue, introduceIssue } from "../store/mirror.ts";
import { unmirroredBlockers } from "../store/native-links.ts";
import { forgetReading, forgetReadings, planOwnReadings, readForgotten } from "../store/pull-readings.ts";
import { pullsWithoutBranches } from "../store/pulls.ts";
import { lockRecord } from "../store/records.ts";
import type { Repository } from "../store/repositories.ts";
import { heedFence, takeMarker } from "./apply-comment.ts";
import { takeIssue } from "./backfill-issue.ts";
import type { Deps } from "./deps.ts";
import { settleComment, settleIssue } from "./find-gone.ts";
import { takeReadPull } from "./merged-pull.ts";
import { readBranches } from "./read-branches.ts";
import { syncIssueLinks } from "./sync-issue-links.ts";
import { takeLabels } from "./take-description.ts";

export const START: BackfillCursor = { phase: "labels", since: null, page: 1, after: 0, began: null };

export interface Scope {
  readonly mode: ReadingMode;
  /** What changed before this time of GitHub's is known; null: nothing is. */
  readonly from: Date | null;
  /** GitHub's time when the reading began. */
  readonly now: Date;
}

/** How many are asked for one by one between two looks at the cursor. */
const BATCH = 50;

/** Does one page and answers where to go on; null: done. */
export async function step(
  deps: Deps,
  client: Client,
  repository: Repository,
  cursor: BackfillCursor,
  scope: Scope,
): Promise<BackfillCursor | null> {
  const { mode } = scope;
  const isTakeUp = mode === "take_up";
  const issueReading = isTakeUp ? { from: null, now: null } : { from: scope.from, now: scope.now };
  const startOf = (phase: BackfillCursor["phase"]): BackfillCursor => ({ ...START, phase });
  // A listing of what changed begins where the last reading began.
  const since = mode === "since" ? (scope.from?.toISOString() ?? null) : null;
  switch (cursor.phase) {
    case "labels":
      if (isTakeUp) await forgetReadings(deps.db, repository.id);
      await takeLabels(deps, client, repository, mode);
      return { ...startOf("issues"), since };
    case "issues":
    case "issues_by_age": {
      const page = await listIssues(client, repository, { ...listingAt(cursor), all: !isTakeUp });
      for (const issue of page.rows) {
        // Of those by age also closed ones are listed, so that none moves while we read.
        if (isTakeUp && issue.state !== "open") continue;
        await orNote(deps, repository, `#${issue.number}`, () =>
          takeIssue(deps, client, repository, issue, issueReading),
        );
      }
      if (mode === "all")
        await noteSeen(
          deps.db,
          repository.id,
          "issue",
          page.rows.map((row) => row.number),
        );
      const polls = mode === "since" && (await pollsLinks(deps.db));
      return next(
        cursor,
        page,
        "issues_by_age",
        polls ? startOf("links") : { ...startOf("comments"), since },
      );
    }
    case "links": {
      // A link changes no issue, and nobody told of it.
      const page = await listIssues(client, repository, { since: null, page: cursor.page, by: "change" });
      for (const issue of page.rows) {
        if (!issue.pull_request) await syncIssueLinks(deps, client, repository, issue);
      }
      return page.full ? { ...cursor, page: cursor.page + 1 } : { ...startOf("comments"), since };
    }
    case "comments":
    case "comments_by_age": {
      const page = await listComments(client, repository, listingAt(cursor));
      for (const comment of page.rows) {
        const number = issueOfComment(comment);
        if (number === null) continue;
        await orNote(deps, repository, `comment ${comment.id}`, () =>
          takeComment(deps, repository, commentSnapshot(comment, number)),
        );
      }
      if (mode === "all")
        await noteSeen(
          deps.db,
          repository.id,
          "comment",
          page.rows.map((row) => row.id),
        );
      return next(cursor, page, "comments_by_age", startOf(mode === "all" ? "gone_issues" : "pulls"));
    }
    case "gone_issues": {
      const unseen = await unseenIssues(deps.db, repository.id, cursor.after, BATCH);
      for (const number of unseen) await settleIssue(deps, client, repository, number, issueReading);
      return nextBatch(cursor, unseen, startOf("gone_comments"));
    }
    case "gone_comments": {
      const unseen = await unseenComments(deps.db, repository.id, cursor.after, BATCH);
      for (const id of unseen) await settleComment(deps, client, repository, id);
      return nextBatch(cursor, unseen, startOf("pulls"));
    }
    case "pulls": {
      const page = isTakeUp
        ? await listOpenPulls(client, repository, cursor.page)
        : await listPullsByChange(client, repository, cursor.page);
      const isOld = (row: { updated_at: Date }) =>
        mode === "since" && scope.from !== null && row.updated_at < scope.from;
      for (const pull of page.rows) {
        if (isOld(pull)) continue;
        // What was missed of an item's own is read by itself: its reviews, its checks, whether it can be merged.
        const forget = pull.state === "open" && (isTakeUp || mode === "since");
        await orNote(deps, repository, `pull request #${pull.number}`, () =>
          takeReadPull(
            deps,
            client,
            repository,
            pull,
            forget ? (trx) => forgetReading(trx, repository.id, pull.number) : null,
          ),
        );
      }
      return page.full && !page.rows.some(isOld)
        ? { ...cursor, page: cursor.page + 1 }
        : startOf("missed_pulls");
    }
    case "missed_pulls": {
      // Pages shift while pull requests close; those that the issue list named are read one by one.
      const missed = await pullsWithoutBranches(deps.db, repository.id, cursor.after, BATCH);
      for (const number of missed) await readMissed(deps, client, repository, number);
      return nextBatch(cursor, missed, startOf(isTakeUp ? "blockers" : "branches"));
    }
    case "branches":
      await readBranches(deps, client, repository, scope.now);
      return startOf("blockers");
    case "blockers": {
      // What closed before the App came is not listed; where something waits for it, its end must be known.
      const unseen = await unmirroredBlockers(deps.db, repository.id, cursor.after, BATCH);
      for (const number of unseen) await takeBlocker(deps, client, repository, number);
      if (unseen.length > 0) return nextBatch(cursor, unseen, null);
      await readForgotten(deps.db, repository.id);
      // Checks end without a trace on the pull request, and reviews are in no list of what changed.
      if (!isTakeUp) await planOwnReadings(deps.db, repository.id, mode === "all");
      return null;
    }
  }
}

/** One row that cannot be stored must not keep the rest of the repository out. GitHub's failures stop the page. */
async function orNote(
  deps: Deps,
  repository: Repository,
  what: string,
  take: () => Promise<void>,
): Promise<void> {
  try {
    await take();
  } catch (error) {
    if (!isDataError(error)) throw error;
    const fields = { err: error, repository: `${repository.owner}/${repository.name}`, what };
    deps.log.error(fields, "a row of the backfill cannot be stored; it is left out");
  }
}

const listingAt = ({ phase, since, page }: BackfillCursor): Listing => ({
  since,
  page,
  by: phase.endsWith("_by_age") ? "age" : "change",
});

/**
 * The next page of a listing sorted by time of change: it begins at the last time seen, so that rows which change
 * while we read are not missed. Times have whole seconds; where one second fills a page, what changed since is
 * listed by age instead: there a row keeps its place whatever happens to it, and pages can be counted.
 */
function next(
  cursor: BackfillCursor,
  page: { full: boolean; rows: readonly { updated_at: Date }[] },
  byAge: BackfillCursor["phase"],
  then: BackfillCursor,
): BackfillCursor {
  if (!page.full) return then;
  if (cursor.phase === byAge) return { ...cursor, page: cursor.page + 1 };
  const [first, last] = [page.rows[0], page.rows.at(-1)].map((row) => row?.updated_at.toISOString() ?? null);
  return { ...cursor, since: last ?? null, phase: first === last ? byAge : cursor.phase };
}

/** After the last of those that were asked for one by one. */
function nextBatch<Then extends BackfillCursor | null>(
  cursor: BackfillCursor,
  done: readonly number[],
  then: Then,
): BackfillCursor | Then {
  const last = done.at(-1);
  return last === undefined ? then : { ...cursor, after: last };
}

async function takeComment(deps: Deps, repository: Repository, comment: CommentSnapshot): Promise<void> {
  const isMirrored = (await findIssue(deps.db, repository.id, comment.issueNumber)) !== null;
  const before = await findComment(deps.db, repository.id, comment.id);
  if (before !== null && (before.deleted || isDeepStrictEqual(before.comment, comment))) return;
  await deps.db.transaction().execute(async (trx) => {
    // Of issues that are not mirrored (closed ones, pull requests) only the tokens count: they were issued.
    if (!isMirrored) return heedFence(trx, deps, comment);
    await lockRecord(trx, itemRef(repository.id, comment.issueNumber));
    await saveComment(trx, repository.id, comment);
    // A marker that was edited into a comment which is known adds nothing (github-cases 41).
    if (before === null) await takeMarker(trx, deps, repository, comment);
  });
}

async function readMissed(deps: Deps, client: Client, repository: Repository, number: number): Promise<void> {
  try {
    const pull = await readPull(client, repository, number);
    await takeReadPull(deps, client, repository, pull, (trx) => forgetReading(trx, repository.id, number));
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

async function takeBlocker(
  deps: Deps,
  client: Client,
  repository: Repository,
  number: number,
): Promise<void> {
  const issue = await readIssue(client, repository, number);
  if (issue === null || issue.pull_request) return;
  await deps.db.transaction().execute((trx) => introduceIssue(trx, repository.id, issueSnapshot(issue)));
}
