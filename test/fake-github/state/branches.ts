import { HttpError } from "../http-error.ts";
import { assertWritable } from "./assert-writable.ts";
import { emit } from "./emit.ts";
import { closeIssue } from "./issues.ts";
import type { Actor, Repository } from "./model.ts";
import { isPull, type PullIssue, retarget } from "./pulls.ts";
import { branchTip, pushFields } from "./pushes.ts";
import type { World } from "./world.ts";

/**
 * Open pull requests from the branch are closed. Those into it follow it where it was merged, as GitHub
 * retargets stacked pull requests, and are closed if it never was.
 */
export function deleteBranch(world: World, by: Actor, repository: Repository, branch: string): void {
  assertWritable(repository);
  const before = branchTip(repository, branch);
  if (branch === repository.defaultBranch) throw new HttpError(422, "Cannot delete the default branch");
  const merged = pullsOf(repository).findLast(
    ({ pull }) => pull.merged && pull.headRepository === repository && pull.headRef === branch,
  );
  repository.branches.delete(branch);
  emit(world, repository, by, {
    event: "push",
    fields: () => pushFields(world, by, repository, { branch, before, after: null, forced: false }, []),
  });
  emit(world, repository, by, {
    event: "delete",
    fields: () => ({
      ref: branch,
      ref_type: "branch",
      full_ref: `refs/heads/${branch}`,
      pusher_type: "user",
    }),
  });
  for (const issue of pullsOf(repository)) {
    if (issue.state !== "open") continue;
    if (issue.pull.headRepository === repository && issue.pull.headRef === branch) {
      closeIssue(world, by, issue, null);
    } else if (issue.pull.baseRef === branch) {
      if (merged) retarget(world, by, issue, merged.pull.baseRef);
      else closeIssue(world, by, issue, null);
    }
  }
}

/** Pull requests follow; the default branch stays the default; the old name redirects. */
export function renameBranch(
  world: World,
  by: Actor,
  repository: Repository,
  from: string,
  to: string,
): void {
  const tip = branchTip(repository, from);
  if (repository.branches.has(to)) throw new HttpError(422, "Branch already exists");
  const wasDefault = from === repository.defaultBranch;
  repository.branches.set(to, tip);
  repository.renamedBranches.set(from, to);
  repository.renamedBranches.delete(to);
  if (wasDefault) repository.defaultBranch = to;
  const into = pullsOf(repository).filter(({ state, pull }) => state === "open" && pull.baseRef === from);
  for (const issue of into) retarget(world, by, issue, to);
  for (const { pull, state } of pullsOf(repository)) {
    if (state === "open" && pull.headRepository === repository && pull.headRef === from) pull.headRef = to;
  }
  repository.branches.delete(from);
  if (wasDefault) emitDefaultBranch(world, by, repository, from);
}

/** Another branch becomes the default; nothing else moves. */
export function changeDefaultBranch(world: World, by: Actor, repository: Repository, to: string): void {
  const from = repository.defaultBranch;
  if (!repository.branches.has(to)) repository.branches.set(to, branchTip(repository, from));
  if (from === to) return;
  repository.defaultBranch = to;
  emitDefaultBranch(world, by, repository, from);
}

function emitDefaultBranch(world: World, by: Actor, repository: Repository, from: string): void {
  emit(world, repository, by, {
    event: "repository",
    action: "edited",
    fields: () => ({ changes: { default_branch: { from } } }),
  });
}

function pullsOf(repository: Repository): PullIssue[] {
  return [...repository.issues.values()].filter(isPull);
}
