import { HttpError, notFound, validationFailed } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { pullCommits, pullJson, reviewJson } from "../payloads/pulls.ts";
import { assertWritable } from "./assert-writable.ts";
import { emit } from "./emit.ts";
import { emitForIssue, record, touch } from "./issue-events.ts";
import { announceOpened, editIssue, findIssue, makeIssue, type NewIssue, reopenIssue } from "./issues.ts";
import type { Actor, Issue, Pull, Repository, Review, ReviewState } from "./model.ts";
import { branchTip } from "./pushes.ts";
import type { World } from "./world.ts";

export type NewPull = NewIssue & {
  head: string;
  headRepository: Repository;
  base: string;
  draft: boolean;
};

export type PullIssue = Issue & { pull: Pull };

export function findPull(repository: Repository, number: number): PullIssue {
  const issue = findIssue(repository, number);
  if (!isPull(issue)) throw notFound();
  return issue;
}

export function isPull(issue: Issue): issue is PullIssue {
  return issue.pull !== null;
}

export function openPull(world: World, by: Actor, repository: Repository, from: NewPull): Issue {
  const headSha = branchTip(from.headRepository, from.head);
  const baseSha = branchTip(repository, from.base);
  const pull: Pull = {
    id: world.nextId(),
    headRepository: from.headRepository,
    headRef: from.head,
    headSha,
    baseRef: from.base,
    baseSha,
    draft: from.draft,
    merged: null,
    mergeability: null,
    reviews: [],
    requestedReviewers: [],
  };
  if (pullCommits(world, pull).length === 0) {
    const message = `No commits between ${from.base} and ${from.head}`;
    throw validationFailed("PullRequest", "base", "custom", message);
  }
  const issue = makeIssue(world, by, repository, from, pull);
  announceOpened(world, by, issue, from);
  return issue;
}

export function editPull(
  world: World,
  by: Actor,
  issue: PullIssue,
  edit: { title?: string | undefined; body?: string | null | undefined; base?: string | undefined },
): void {
  if (edit.base !== undefined && edit.base !== issue.pull.baseRef) {
    if (issue.state === "closed")
      throw validationFailed(
        "PullRequest",
        "base",
        "invalid",
        "Cannot change the base branch of a closed pull request.",
      );
    retarget(world, by, issue, edit.base);
  }
  editIssue(world, by, issue, edit);
}

export function retarget(world: World, by: Actor, issue: PullIssue, base: string): void {
  assertWritable(issue.repository);
  const { pull } = issue;
  const from = { ref: { from: pull.baseRef }, sha: { from: pull.baseSha } };
  pull.baseSha = branchTip(issue.repository, base);
  pull.baseRef = base;
  touch(world, issue);
  record(world, by, issue, "base_ref_changed");
  emitForIssue(world, by, issue, "edited", () => ({ changes: { base: from } }));
}

/** What was pushed meanwhile shows again; a merged one, or one without its branch, stays closed. */
export function reopenPull(world: World, by: Actor, issue: PullIssue): void {
  const { pull } = issue;
  const head = pull.headRepository.branches.get(pull.headRef);
  if (pull.merged || head === undefined) {
    throw validationFailed("PullRequest", "state", "invalid", "state cannot be changed.");
  }
  pull.headSha = head;
  pull.baseSha = branchTip(issue.repository, pull.baseRef);
  reopenIssue(world, by, issue);
}

export function setDraft(world: World, by: Actor, issue: PullIssue, draft: boolean): void {
  if (issue.pull.draft === draft) return;
  issue.pull.draft = draft;
  touch(world, issue);
  const action = draft ? "converted_to_draft" : "ready_for_review";
  record(world, by, issue, draft ? "convert_to_draft" : "ready_for_review");
  emitForIssue(world, by, issue, action);
}

export function review(world: World, by: Actor, issue: PullIssue, state: ReviewState, body: string): Review {
  if (state === "dismissed") return dismissReview(world, by, issue);
  const made: Review = {
    id: world.nextId(),
    author: by.account,
    state,
    body,
    commitId: issue.pull.headSha,
    submittedAt: world.now(),
  };
  issue.pull.reviews.push(made);
  // Whoever was asked has answered.
  issue.pull.requestedReviewers = issue.pull.requestedReviewers.filter((asked) => asked !== by.account);
  touch(world, issue);
  emitForReview(world, by, issue, made, "submitted");
  return made;
}

export function requestReview(world: World, by: Actor, issue: PullIssue, login: string): void {
  const reviewer = world.account(login);
  if (!issue.pull.requestedReviewers.includes(reviewer)) issue.pull.requestedReviewers.push(reviewer);
  touch(world, issue);
  record(world, by, issue, "review_requested", { requested_reviewer: { login: reviewer.login } });
  emitForIssue(world, by, issue, "review_requested");
}

function dismissReview(world: World, by: Actor, issue: PullIssue): Review {
  const last = issue.pull.reviews.findLast((candidate) => candidate.state !== "commented");
  if (!last) throw new HttpError(422, "There is no review to dismiss");
  last.state = "dismissed";
  touch(world, issue);
  record(world, by, issue, "review_dismissed");
  emitForReview(world, by, issue, last, "dismissed");
  return last;
}

function emitForReview(world: World, by: Actor, issue: PullIssue, made: Review, action: string): void {
  emit(world, issue.repository, by, {
    event: "pull_request_review",
    action,
    fields: (): JsonObject => ({
      // Webhooks write the state in lower case, the REST API in upper case.
      review: { ...reviewJson(world, issue, made), state: made.state },
      pull_request: pullJson(world, issue, issue.pull),
    }),
  });
}
