/** What an item's own open pull requests mean for it (protocol 6, "Its own pull request"). */

import { type CheckSuiteFacts, checksOf } from "./pull-checks.ts";

/**
 * `in_review`: one waits for people or checks; the item is neither offered nor parked. `resumable`: one can be merged
 * now, and finishing it is the cheapest work there is. `again`: none of both; a worker has to go on with it.
 */
export type Review = "in_review" | "resumable" | "again";

/** What a pull request in review waits for. */
export type Waits = "checks" | "reviewers" | "mergeability" | "rules";

export interface ReviewFacts {
  readonly id: number;
  readonly reviewer: string | null;
  readonly reviewerType: string | null;
  readonly association: string | null;
  /** `approved`, `changes_requested`, `commented`, `dismissed`. */
  readonly state: string;
  readonly submittedAt: Date | null;
}

export interface PullFacts {
  readonly number: number;
  readonly draft: boolean;
  readonly headSha: string;
  readonly baseRef: string;
  /** When this head was first seen. */
  readonly headAt: Date | null;
  readonly checks: readonly CheckSuiteFacts[];
  readonly reviews: readonly ReviewFacts[];
  /** Logins and teams whose review was asked for and has not come. */
  readonly asked: readonly string[];
  /** What GitHub said when it was read last. */
  readonly read: {
    readonly at: Date;
    readonly head: string;
    readonly base: string;
    /** Null: GitHub was still working it out. */
    readonly mergeable: boolean | null;
    readonly state: string | null;
    /** Reads in a row that brought no answer. */
    readonly tries: number;
  } | null;
  /** When something happened that may have changed that. */
  readonly movedAt: Date | null;
  /** What Leasehold's own check on this head says; null: nothing yet. */
  readonly claimCheck: string | null;
}

export interface ItemReview {
  readonly review: Review;
  /** The pull request that decides. */
  readonly pull: number;
  readonly waits: Waits | null;
}

/** Checks of a new head are created a moment after it, and GitHub does not tell of it: silence counts after this. */
const CHECKS_COME_MS = 60_000;
/** What no event tells of is looked at again so often. */
const POLL_MS = 600_000;

const MAY_JUDGE: readonly string[] = ["OWNER", "MEMBER", "COLLABORATOR"];

/**
 * Of several, one that can be merged wins, then one that waits: people are busy with it, whatever else was begun.
 * Null: none is open.
 */
export function reviewOf(pulls: readonly PullFacts[], now: Date): ItemReview | null {
  const judged = pulls.map((pull) => judgePull(pull, now));
  for (const wanted of ["resumable", "in_review", "again"] as const) {
    const found = judged.find(({ review }) => review === wanted);
    if (found) return found;
  }
  return null;
}

/**
 * One pull request. A draft waits for nobody: its author said that it is not done, and a dead worker never will say
 * that it is. What only a worker can mend goes before what others are waited for.
 */
function judgePull(pull: PullFacts, now: Date): ItemReview {
  const is = (review: Review, waits: Waits | null = null): ItemReview => ({
    review,
    pull: pull.number,
    waits,
  });
  const checks = checksOf(pull.checks);
  const read = currentRead(pull);
  const mergeable = read?.mergeable ?? null;
  if (pull.draft || mergeable === false || checks === "red") return is("again");
  if (changesRequested(pull)) return is("again");
  if (checks === "pending" || checksMayCome(pull, now)) return is("in_review", "checks");
  if (pull.asked.length > 0) return is("in_review", "reviewers");
  if (mergeable === null) return is("in_review", "mergeability");
  switch (read?.state) {
    case "behind":
      // Somebody has to bring the branch up to date with its base.
      return is("again");
    case "blocked":
      // Our own check may be what blocks it, and only a worker turns that green.
      return pull.claimCheck === "failure" ? is("again") : is("in_review", "rules");
    case "unstable":
      // The suites are green, so that it is a commit status, which Leasehold may not read; or our own check.
      return pull.claimCheck === "failure" ? is("resumable") : is("in_review", "checks");
    default:
      return is("resumable");
  }
}

/** What was read of another head or base says nothing of these. */
const currentRead = ({ read, headSha, baseRef }: PullFacts): PullFacts["read"] =>
  read?.head === headSha && read.base === baseRef ? read : null;

const checksMayCome = ({ checks, headAt }: PullFacts, now: Date): boolean =>
  checksOf(checks) === "none" && headAt !== null && now.getTime() - headAt.getTime() < CHECKS_COME_MS;

/**
 * Whether the latest verdict of anybody who may judge asks for changes. A comment is no verdict, a dismissed one
 * counts no more, and whoever is asked once more has not answered yet.
 */
export function changesRequested({ reviews, asked }: Pick<PullFacts, "reviews" | "asked">): boolean {
  const latest = new Map<string, ReviewFacts>();
  for (const review of [...reviews].sort(bySubmission)) {
    if (review.state !== "commented" && mayJudge(review))
      latest.set(review.reviewer?.toLowerCase() ?? `ghost ${review.id}`, review);
  }
  return [...latest].some(([login, { state }]) => state === "changes_requested" && !asked.includes(login));
}

const bySubmission = (a: ReviewFacts, b: ReviewFacts): number =>
  (a.submittedAt?.getTime() ?? 0) - (b.submittedAt?.getTime() ?? 0) || a.id - b.id;

/** A passer-by's review stops nothing; a bot was let in by somebody who may. */
const mayJudge = ({ reviewerType, association }: ReviewFacts): boolean =>
  reviewerType === "Bot" || (association !== null && MAY_JUDGE.includes(association));

/**
 * When the pull request is to be read next; null: not before something happens. `spacingMs` keeps pushes to a busy
 * base from reading each pull request every time.
 */
export function nextReading(pull: PullFacts, now: Date, spacingMs: number): Date | null {
  if (pull.draft) return null;
  const read = currentRead(pull);
  if (read === null) return now;
  const after = (ms: number): Date => new Date(read.at.getTime() + ms);
  const times: Date[] = [];
  if (pull.movedAt !== null && pull.movedAt >= read.at) times.push(after(spacingMs));
  if (read.mergeable === null) times.push(after(Math.min(POLL_MS, 2 ** read.tries * 1000)));
  const isOpen = checksOf(pull.checks) === "pending" || ["blocked", "unstable"].includes(read.state ?? "");
  if (isOpen) times.push(after(POLL_MS));
  if (checksMayCome(pull, now) && pull.headAt !== null)
    times.push(new Date(pull.headAt.getTime() + CHECKS_COME_MS));
  const first = times.sort((a, b) => a.getTime() - b.getTime())[0];
  if (first === undefined) return null;
  return first < now ? now : first;
}

/** What a person reads of an item in review. */
export function waitsText(pull: number, waits: Waits | null): string {
  switch (waits) {
    case "reviewers":
      return `pull request #${pull} waits for the reviewers that were asked`;
    case "mergeability":
      return `pull request #${pull}: GitHub has not said yet whether it can be merged`;
    case "rules":
      return `pull request #${pull} waits for what the rules of its base branch ask for, such as an approval`;
    default:
      return `pull request #${pull} waits for its checks`;
  }
}
