import { notFound, tooLong, validationFailed } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { userJson } from "../payloads/accounts.ts";
import { assertWritable } from "./assert-writable.ts";
import { emitForIssue, record, touch } from "./issue-events.ts";
import { addLabel } from "./issue-labels.ts";
import type { Account, Actor, Issue, Pull, Repository, StateReason } from "./model.ts";
import type { World } from "./world.ts";

export const MAX_BODY_LENGTH = 65_536;

export type NewIssue = {
  title: string;
  body?: string | null | undefined;
  labels?: readonly string[] | undefined;
  assignees?: readonly string[] | undefined;
};

export function findIssue(repository: Repository, number: number): Issue {
  const issue = repository.issues.get(number);
  if (!issue) throw notFound();
  return issue;
}

/** `opened` carries the labels already; then GitHub sends `labeled` for each of them. */
export function openIssue(world: World, by: Actor, repository: Repository, from: NewIssue): Issue {
  const issue = makeIssue(world, by, repository, from, null);
  announceOpened(world, by, issue, from);
  return issue;
}

/** The number and the record, for an issue or a pull request; nobody has heard of it yet. */
export function makeIssue(
  world: World,
  by: Actor,
  repository: Repository,
  from: NewIssue,
  pull: Pull | null,
): Issue {
  assertWritable(repository);
  checkText(from);
  repository.lastNumber += 1;
  const now = world.now();
  const issue: Issue = {
    id: world.nextId(),
    repository,
    number: repository.lastNumber,
    title: from.title,
    body: from.body ?? null,
    author: by.account,
    viaApp: by.viaApp,
    state: "open",
    stateReason: null,
    labels: [],
    assignees: [],
    milestone: null,
    locked: false,
    comments: [],
    events: [],
    createdAt: now,
    updatedAt: now,
    closedAt: null,
    closedBy: null,
    parent: null,
    subIssues: [],
    blockedBy: [],
    blocking: [],
    pull,
  };
  repository.issues.set(issue.number, issue);
  return issue;
}

export function announceOpened(world: World, by: Actor, issue: Issue, from: NewIssue): void {
  const announcements: (() => void)[] = [];
  for (const name of from.labels ?? []) {
    const label = addLabel(world, by, issue, name);
    if (label) announcements.push(label.announce);
  }
  const assignees = (from.assignees ?? []).map((login) => world.account(login));
  issue.assignees.push(...assignees);
  for (const assignee of assignees) recordAssignment(world, by, issue, "assigned", assignee);
  emitForIssue(world, by, issue, "opened");
  for (const announce of announcements) announce();
  for (const assignee of assignees) announceAssignment(world, by, issue, "assigned", assignee);
}

export function editIssue(
  world: World,
  by: Actor,
  issue: Issue,
  edit: { title?: string | undefined; body?: string | null | undefined },
): void {
  assertWritable(issue.repository);
  checkText(edit);
  const changes: JsonObject = {};
  if (edit.title !== undefined && edit.title !== issue.title) {
    changes.title = { from: issue.title };
    record(world, by, issue, "renamed", { rename: { from: issue.title, to: edit.title } });
    issue.title = edit.title;
  }
  if (edit.body !== undefined && edit.body !== issue.body) {
    changes.body = { from: issue.body };
    issue.body = edit.body;
  }
  if (Object.keys(changes).length === 0) return;
  touch(world, issue);
  emitForIssue(world, by, issue, "edited", () => ({ changes }));
}

/** Closing again with another reason is a change; with the same one it is nothing. */
export function closeIssue(
  world: World,
  by: Actor,
  issue: Issue,
  reason: StateReason | null,
  commitId: string | null = null,
): void {
  assertWritable(issue.repository);
  const stateReason = issue.pull ? null : reason;
  if (issue.state === "closed" && issue.stateReason === stateReason) return;
  issue.state = "closed";
  issue.stateReason = stateReason;
  issue.closedAt = world.now();
  issue.closedBy = by.account;
  touch(world, issue);
  record(world, by, issue, "closed", { state_reason: stateReason }, commitId);
  emitForIssue(world, by, issue, "closed");
}

export function reopenIssue(world: World, by: Actor, issue: Issue): void {
  assertWritable(issue.repository);
  if (issue.state === "open") return;
  issue.state = "open";
  issue.stateReason = issue.pull ? null : "reopened";
  issue.closedAt = null;
  issue.closedBy = null;
  touch(world, issue);
  record(world, by, issue, "reopened", { state_reason: null });
  emitForIssue(world, by, issue, "reopened");
}

export function lockIssue(world: World, by: Actor, issue: Issue): void {
  assertWritable(issue.repository);
  if (issue.locked) return;
  issue.locked = true;
  record(world, by, issue, "locked");
  touch(world, issue);
  emitForIssue(world, by, issue, "locked");
}

export function assign(world: World, by: Actor, issue: Issue, login: string): void {
  const assignee = world.account(login);
  if (issue.assignees.includes(assignee)) return;
  issue.assignees.push(assignee);
  recordAssignment(world, by, issue, "assigned", assignee);
  announceAssignment(world, by, issue, "assigned", assignee);
}

export function unassign(world: World, by: Actor, issue: Issue, login: string): void {
  const assignee = world.account(login);
  if (!issue.assignees.includes(assignee)) return;
  issue.assignees = issue.assignees.filter((account) => account !== assignee);
  recordAssignment(world, by, issue, "unassigned", assignee);
  announceAssignment(world, by, issue, "unassigned", assignee);
}

/** Null takes it off. */
export function setMilestone(world: World, by: Actor, issue: Issue, title: string | null): void {
  if (issue.milestone === title) return;
  const before = issue.milestone;
  issue.milestone = title;
  touch(world, issue);
  const action = title === null ? "demilestoned" : "milestoned";
  record(world, by, issue, action, { milestone: { title: title ?? before } });
  emitForIssue(world, by, issue, action);
}

type Assignment = "assigned" | "unassigned";

function recordAssignment(world: World, by: Actor, issue: Issue, event: Assignment, who: Account): void {
  touch(world, issue);
  record(world, by, issue, event, {
    assignee: userJson(world, who),
    assigner: userJson(world, by.account),
  });
}

function announceAssignment(world: World, by: Actor, issue: Issue, event: Assignment, who: Account): void {
  emitForIssue(world, by, issue, event, () => ({ assignee: userJson(world, who) }));
}

function checkText(text: { title?: string | undefined; body?: string | null | undefined }): void {
  if (text.title?.trim() === "") throw validationFailed("Issue", "title", "missing_field");
  if ((text.body?.length ?? 0) > MAX_BODY_LENGTH) {
    throw tooLong("Issue", "body", "body is too long (maximum is 65536 characters)");
  }
}
