import { HttpError } from "../http-error.ts";
import { issueJson } from "../payloads/issues.ts";
import { repositoryJson } from "../payloads/repositories.ts";
import { assertWritable } from "./assert-writable.ts";
import { emit } from "./emit.ts";
import { emitForIssue, record, touch } from "./issue-events.ts";
import type { Actor, Issue, Repository } from "./model.ts";
import type { World } from "./world.ts";

/** How an issue leaves its number behind. The number is never given again. */

export function deleteIssue(world: World, by: Actor, issue: Issue): void {
  assertWritable(issue.repository);
  emitForIssue(world, by, issue, "deleted");
  cutLinks(issue);
  issue.repository.issues.delete(issue.number);
  issue.repository.gone.set(issue.number, { kind: "deleted" });
}

/**
 * The issue gets a new number and id in the target; comments, timeline and links go along, and those
 * labels that the target has by name. The target hears `opened`, the source `transferred`; in which order
 * they arrive GitHub does not promise.
 */
export function transferIssue(world: World, by: Actor, issue: Issue, target: Repository): number {
  const source = issue.repository;
  assertWritable(source);
  assertWritable(target);
  if (source.owner !== target.owner)
    throw new HttpError(422, "Issues move only between repositories of one owner");
  const oldIssue = issueJson(world, issue);
  const oldRepository = repositoryJson(world, source);
  source.issues.delete(issue.number);
  source.gone.set(issue.number, { kind: "transferred", to: issue });

  target.lastNumber += 1;
  issue.repository = target;
  issue.number = target.lastNumber;
  issue.id = world.nextId();
  issue.labels = issue.labels.flatMap(({ name }) => target.labels.get(name.toLowerCase()) ?? []);
  target.issues.set(issue.number, issue);
  touch(world, issue);
  record(world, by, issue, "transferred");

  emitForIssue(world, by, issue, "opened", () => ({
    changes: { old_issue: oldIssue, old_repository: oldRepository },
  }));
  emit(world, source, by, {
    event: "issues",
    action: "transferred",
    fields: () => ({
      issue: oldIssue,
      changes: { new_issue: issueJson(world, issue), new_repository: repositoryJson(world, target) },
    }),
  });
  return issue.number;
}

/** What GitHub sends for this is not documented; it leaves a closed, locked issue with a timeline entry. */
export function convertToDiscussion(world: World, by: Actor, issue: Issue): void {
  assertWritable(issue.repository);
  issue.state = "closed";
  issue.locked = true;
  issue.closedAt = world.now();
  issue.closedBy = by.account;
  touch(world, issue);
  record(world, by, issue, "converted_to_discussion");
  record(world, by, issue, "closed", { state_reason: null });
  emitForIssue(world, by, issue, "closed");
}

function cutLinks(issue: Issue): void {
  const without = (issues: Issue[]) => issues.filter((other) => other !== issue);
  if (issue.parent) issue.parent.subIssues = without(issue.parent.subIssues);
  for (const sub of issue.subIssues) sub.parent = null;
  for (const blocker of issue.blockedBy) blocker.blocking = without(blocker.blocking);
  for (const blocked of issue.blocking) blocked.blockedBy = without(blocked.blockedBy);
}
