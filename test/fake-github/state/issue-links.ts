import { HttpError, validationFailed } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { issueJson } from "../payloads/issues.ts";
import { repositoryJson } from "../payloads/repositories.ts";
import { assertWritable } from "./assert-writable.ts";
import { emit } from "./emit.ts";
import { record, touch } from "./issue-events.ts";
import type { Actor, Issue } from "./model.ts";
import type { World } from "./world.ts";

/*
 * GitHub's own links between issues. Each edge has two ends, perhaps in two repositories, and each end's
 * repository gets an event of its own: an edge added or removed sends two.
 */

const MAX_SUB_ISSUES = 100;
const MAX_DEPTH = 8;

export function addSubIssue(world: World, by: Actor, parent: Issue, sub: Issue, replaceParent = false): void {
  assertWritable(parent.repository);
  if (sub.parent === parent) throw refused("Sub-issue is already a sub-issue of this issue");
  if (sub.parent && !replaceParent) throw refused("Sub-issue may only have one parent");
  if (parent.repository.owner !== sub.repository.owner) throw refused("Sub-issue must have the same owner");
  if (parent.pull || sub.pull) throw refused("Pull requests cannot be sub-issues");
  if (ancestry(parent).includes(sub)) throw refused("Sub-issue cannot be an ancestor of its parent");
  if (parent.subIssues.length >= MAX_SUB_ISSUES) throw refused("Parent cannot have more than 100 sub-issues");
  if (ancestry(parent).length + height(sub) > MAX_DEPTH) throw refused("Sub-issues are nested too deeply");
  if (sub.parent) removeSubIssue(world, by, sub.parent, sub);
  sub.parent = parent;
  parent.subIssues.push(sub);
  announceSubIssue(world, by, parent, sub, "added");
}

export function removeSubIssue(world: World, by: Actor, parent: Issue, sub: Issue): void {
  if (sub.parent !== parent) throw new HttpError(404, "The provided sub-issue does not exist");
  sub.parent = null;
  parent.subIssues = parent.subIssues.filter((other) => other !== sub);
  announceSubIssue(world, by, parent, sub, "removed");
}

export function addBlocker(world: World, by: Actor, blocked: Issue, blocker: Issue): void {
  assertWritable(blocked.repository);
  if (blocked.pull || blocker.pull) throw validationFailed("IssueDependency", "issue", "invalid");
  if (blocked === blocker)
    throw validationFailed("IssueDependency", "issue", "invalid", "Issue cannot block itself");
  if (blocked.blockedBy.includes(blocker)) {
    throw validationFailed("IssueDependency", "issue", "already_exists");
  }
  blocked.blockedBy.push(blocker);
  blocker.blocking.push(blocked);
  announceBlocker(world, by, blocked, blocker, "added");
}

export function removeBlocker(world: World, by: Actor, blocked: Issue, blocker: Issue): void {
  if (!blocked.blockedBy.includes(blocker)) throw new HttpError(404, "Not Found");
  blocked.blockedBy = blocked.blockedBy.filter((other) => other !== blocker);
  blocker.blocking = blocker.blocking.filter((other) => other !== blocked);
  announceBlocker(world, by, blocked, blocker, "removed");
}

type Edge = "added" | "removed";

function announceSubIssue(world: World, by: Actor, parent: Issue, sub: Issue, edge: Edge): void {
  touch(world, parent);
  touch(world, sub);
  record(world, by, parent, `sub_issue_${edge}`, { sub_issue: reference(world, sub) });
  record(world, by, sub, `parent_issue_${edge}`, { parent_issue: reference(world, parent) });
  const ends = (): JsonObject => ({
    parent_issue_id: parent.id,
    parent_issue: issueJson(world, parent),
    sub_issue_id: sub.id,
    sub_issue: issueJson(world, sub),
  });
  emit(world, parent.repository, by, {
    event: "sub_issues",
    action: `sub_issue_${edge}`,
    fields: () => ({ ...ends(), sub_issue_repo: repositoryJson(world, sub.repository) }),
  });
  emit(world, sub.repository, by, {
    event: "sub_issues",
    action: `parent_issue_${edge}`,
    fields: () => ({ ...ends(), parent_issue_repo: repositoryJson(world, parent.repository) }),
  });
}

function announceBlocker(world: World, by: Actor, blocked: Issue, blocker: Issue, edge: Edge): void {
  touch(world, blocked);
  touch(world, blocker);
  record(world, by, blocked, `blocked_by_${edge}`, { blocked_by: reference(world, blocker) });
  record(world, by, blocker, `blocking_${edge}`, { blocking: reference(world, blocked) });
  const ends = (): JsonObject => ({
    blocked_issue_id: blocked.id,
    blocked_issue: issueJson(world, blocked),
    blocking_issue_id: blocker.id,
    blocking_issue: issueJson(world, blocker),
  });
  emit(world, blocked.repository, by, {
    event: "issue_dependencies",
    action: `blocked_by_${edge}`,
    fields: () => ({ ...ends(), blocking_issue_repo: repositoryJson(world, blocker.repository) }),
  });
  emit(world, blocker.repository, by, {
    event: "issue_dependencies",
    action: `blocking_${edge}`,
    fields: () => ({ ...ends(), blocked_issue_repo: repositoryJson(world, blocked.repository) }),
  });
}

function reference(world: World, issue: Issue): JsonObject {
  const { number, title, state, stateReason, repository } = issue;
  return {
    number,
    title,
    state,
    state_reason: stateReason,
    repository: repositoryJson(world, repository),
    issue_type: null,
  };
}

function refused(message: string): HttpError {
  return new HttpError(422, `An error occurred while adding the sub-issue to the parent issue. ${message}`);
}

/** The issue and everything above it. */
function ancestry(issue: Issue): Issue[] {
  return issue.parent ? [issue, ...ancestry(issue.parent)] : [issue];
}

/** Levels from the issue down to its deepest sub-issue, itself included. */
function height(issue: Issue): number {
  return 1 + Math.max(0, ...issue.subIssues.map(height));
}
