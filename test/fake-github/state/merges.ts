import { HttpError } from "../http-error.ts";
import { pullCommits } from "../payloads/pulls.ts";
import { assertWritable } from "./assert-writable.ts";
import { closeNamedIssues } from "./close-named-issues.ts";
import { addCommit, mergeBase, mergeFiles } from "./git.ts";
import { emitForIssue, record, touch } from "./issue-events.ts";
import type { Actor } from "./model.ts";
import type { PullIssue } from "./pulls.ts";
import { announcePush, branchTip, moveBranch } from "./pushes.ts";
import type { World } from "./world.ts";

export type MergeMethod = "merge" | "squash" | "rebase";

/**
 * GitHub's order: the pull request is closed as merged, the base branch is pushed, and, on the default
 * branch only, the issues that its body or its commits name with a closing keyword are closed.
 */
export function mergePull(world: World, by: Actor, issue: PullIssue, method: MergeMethod): string {
  const { pull, repository } = issue;
  assertWritable(repository);
  if (issue.state !== "open") throw new HttpError(405, "Pull Request is not mergeable");
  if (pull.draft) throw new HttpError(405, "Pull Request is still a draft");
  if (pull.mergeability?.mergeable === false) throw new HttpError(405, "Pull Request is not mergeable");
  const before = branchTip(repository, pull.baseRef);
  const sha = makeMergeCommits(world, by, issue, method, before);
  const update = { branch: pull.baseRef, before, after: sha, forced: false };
  moveBranch(world, repository, update);

  pull.merged = { at: world.now(), by: by.account, sha };
  issue.state = "closed";
  issue.closedAt = world.now();
  issue.closedBy = by.account;
  touch(world, issue);
  record(world, by, issue, "merged", {}, sha);
  record(world, by, issue, "closed");
  emitForIssue(world, by, issue, "closed");

  announcePush(world, by, repository, update);
  if (pull.baseRef === repository.defaultBranch) closeNamedIssues(world, by, repository, issue.body, null);
  return sha;
}

function makeMergeCommits(
  world: World,
  by: Actor,
  issue: PullIssue,
  method: MergeMethod,
  tip: string,
): string {
  const { pull, repository } = issue;
  const head = world.commit(pull.headSha);
  const base = mergeBase(world, tip, pull.headSha)?.files ?? new Map<string, string>();
  const files = mergeFiles(base, head.files, world.commit(tip).files);
  const commits = pullCommits(world, pull);
  switch (method) {
    case "merge": {
      const from = `${pull.headRepository.owner.login}/${pull.headRef}`;
      const message = `Merge pull request #${issue.number} from ${from}\n\n${issue.title}`;
      return addCommit(world, { message, author: by.account, parents: [tip, head.sha], files }).sha;
    }
    case "squash": {
      const list = commits.map((commit) => `* ${commit.message}`).join("\n\n");
      const message = `${issue.title} (#${issue.number})\n\n${list}`;
      repository.contributors.add(issue.author.login.toLowerCase());
      return addCommit(world, { message, author: issue.author, parents: [tip], files }).sha;
    }
    case "rebase": {
      let last = tip;
      let tree = world.commit(tip).files;
      for (const commit of commits) {
        const parent = commit.parents[0];
        tree = mergeFiles(parent ? world.commit(parent).files : new Map(), commit.files, tree);
        last = addCommit(world, { ...commit, parents: [last], files: tree }).sha;
      }
      return last;
    }
  }
}
