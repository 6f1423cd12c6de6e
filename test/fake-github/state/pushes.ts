import { HttpError, validationFailed } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { gitPerson, pushedCommitJson } from "../payloads/git.ts";
import { repositoryHtmlUrl } from "../payloads/repositories.ts";
import { assertWritable } from "./assert-writable.ts";
import { requestCheckSuite } from "./checks.ts";
import { closeNamedIssues } from "./close-named-issues.ts";
import { emit } from "./emit.ts";
import { addCommit, changeFiles, commitsBetween, type FileChanges } from "./git.ts";
import { emitForIssue, touch } from "./issue-events.ts";
import type { Actor, Commit, Repository } from "./model.ts";
import type { World } from "./world.ts";

const ZERO_SHA = "0".repeat(40);

/** A `push` names at most this many commits. */
const MAX_PUSHED_COMMITS = 2048;

export type CommitInput = { message: string; changes: FileChanges };

export type RefUpdate = { branch: string; before: string | null; after: string; forced: boolean };

export function branchTip(repository: Repository, branch: string): string {
  const tip = repository.branches.get(branch);
  if (!tip) throw new HttpError(404, "Branch not found");
  return tip;
}

/** Adds commits to a branch, which starts at `from` (a branch or a sha) if it is new, and pushes it. */
export function push(
  world: World,
  by: Actor,
  repository: Repository,
  branch: string,
  commits: readonly CommitInput[],
  options: { forced: boolean; from: string },
): string {
  assertWritable(repository);
  const before = repository.branches.get(branch) ?? null;
  const forced = options.forced && before !== null;
  let tip = before ?? repository.branches.get(options.from) ?? world.commit(options.from).sha;
  if (forced && before) tip = world.commit(before).parents[0] ?? before;
  for (const { message, changes } of commits) {
    const files = changeFiles(world.commit(tip).files, changes);
    tip = addCommit(world, { message, author: by.account, parents: [tip], files }).sha;
  }
  const update = { branch, before, after: tip, forced };
  moveBranch(world, repository, update);
  announcePush(world, by, repository, update);
  return tip;
}

/** A new branch at a commit that exists. */
export function createBranch(
  world: World,
  by: Actor,
  repository: Repository,
  branch: string,
  sha: string,
): void {
  assertWritable(repository);
  if (repository.branches.has(branch)) throw new HttpError(422, "Reference already exists");
  if (hasPathConflict(repository, branch)) throw new HttpError(422, "Reference update failed");
  if (!world.commits.has(sha)) throw validationFailed("Reference", "sha", "invalid", "Object does not exist");
  const update = { branch, before: null, after: sha, forced: false };
  moveBranch(world, repository, update);
  announcePush(world, by, repository, update);
}

/** Only the state changes: a merge tells of itself between this and `announcePush`. */
export function moveBranch(world: World, repository: Repository, { branch, after }: RefUpdate): void {
  repository.branches.set(branch, after);
  repository.pushedAt = world.now();
}

export function announcePush(world: World, by: Actor, repository: Repository, update: RefUpdate): void {
  const { branch, before, after } = update;
  const from = before ?? repository.branches.get(repository.defaultBranch) ?? null;
  const commits = commitsBetween(world, from === after && before === null ? after : from, after);
  if (branch === repository.defaultBranch) {
    for (const commit of commits) repository.contributors.add(commit.author.login.toLowerCase());
  }
  if (before === null) emitCreated(world, by, repository, branch, "branch");
  emit(world, repository, by, {
    event: "push",
    fields: () => pushFields(world, by, repository, update, commits),
  });
  requestCheckSuite(world, by, repository, branch, after);
  synchronizePulls(world, by, repository, branch, before, after);
  if (branch === repository.defaultBranch) {
    for (const commit of commits) closeNamedIssues(world, by, repository, commit.message, commit.sha);
  }
}

/** More than three tags in one push and GitHub says nothing. */
export function pushTags(world: World, by: Actor, repository: Repository, tags: readonly string[]): void {
  if (tags.length > 3) return;
  const after = branchTip(repository, repository.defaultBranch);
  for (const tag of tags) {
    emitCreated(world, by, repository, tag, "tag");
    emit(world, repository, by, {
      event: "push",
      fields: () => ({
        ...pushFields(world, by, repository, { branch: tag, before: null, after, forced: false }, []),
        ref: `refs/tags/${tag}`,
        base_ref: `refs/heads/${repository.defaultBranch}`,
      }),
    });
  }
}

export function pushFields(
  world: World,
  by: Actor,
  repository: Repository,
  update: { branch: string; before: string | null; after: string | null; forced: boolean },
  commits: readonly Commit[],
): JsonObject {
  const before = update.before ?? ZERO_SHA;
  const after = update.after ?? ZERO_SHA;
  const head = update.after ? pushedCommitJson(world, repository, world.commit(update.after)) : null;
  return {
    ref: `refs/heads/${update.branch}`,
    before,
    after,
    base_ref: null,
    created: update.before === null,
    deleted: update.after === null,
    forced: update.forced,
    compare: `${repositoryHtmlUrl(repository)}/compare/${before.slice(0, 12)}...${after.slice(0, 12)}`,
    commits: commits.slice(-MAX_PUSHED_COMMITS).map((commit) => pushedCommitJson(world, repository, commit)),
    head_commit: head,
    pusher: gitPerson(by.account),
  };
}

function synchronizePulls(
  world: World,
  by: Actor,
  headRepository: Repository,
  branch: string,
  before: string | null,
  after: string,
): void {
  const base = headRepository.forkOf ?? headRepository;
  for (const issue of base.issues.values()) {
    const { pull } = issue;
    if (!pull || issue.state !== "open") continue;
    if (pull.headRepository !== headRepository || pull.headRef !== branch) continue;
    pull.headSha = after;
    pull.baseSha = base.branches.get(pull.baseRef) ?? pull.baseSha;
    touch(world, issue);
    emitForIssue(world, by, issue, "synchronize", () => ({ before: before ?? ZERO_SHA, after }));
  }
}

function emitCreated(
  world: World,
  by: Actor,
  repository: Repository,
  ref: string,
  refType: "branch" | "tag",
): void {
  emit(world, repository, by, {
    event: "create",
    fields: () => ({
      ref,
      ref_type: refType,
      full_ref: `refs/${refType === "branch" ? "heads" : "tags"}/${ref}`,
      master_branch: repository.defaultBranch,
      description: null,
      pusher_type: "user",
    }),
  });
}

/** Git cannot hold both `feat/x` and `feat/x/y`. */
function hasPathConflict(repository: Repository, branch: string): boolean {
  for (const other of repository.branches.keys()) {
    if (other.startsWith(`${branch}/`) || branch.startsWith(`${other}/`)) return true;
  }
  return false;
}
