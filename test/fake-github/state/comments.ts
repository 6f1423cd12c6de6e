import { notFound, tooLong, validationFailed } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { commentJson, issueJson } from "../payloads/issues.ts";
import { assertWritable } from "./assert-writable.ts";
import { emit } from "./emit.ts";
import { touch } from "./issue-events.ts";
import { MAX_BODY_LENGTH } from "./issues.ts";
import type { Actor, Comment, Issue, Repository } from "./model.ts";
import type { World } from "./world.ts";

export function createComment(world: World, by: Actor, issue: Issue, body: string): Comment {
  assertWritable(issue.repository);
  checkBody(body);
  const now = world.now();
  const comment: Comment = {
    id: world.nextId(),
    body,
    author: by.account,
    viaApp: by.viaApp,
    createdAt: now,
    updatedAt: now,
  };
  issue.comments.push(comment);
  touch(world, issue);
  emitForComment(world, by, issue, comment, "created");
  return comment;
}

export function editComment(world: World, by: Actor, repository: Repository, id: number, body: string): void {
  assertWritable(repository);
  checkBody(body);
  const { issue, comment } = findComment(repository, id);
  const changes = body === comment.body ? {} : { body: { from: comment.body } };
  comment.body = body;
  comment.updatedAt = world.now();
  touch(world, issue);
  emitForComment(world, by, issue, comment, "edited", { changes });
}

export function deleteComment(world: World, by: Actor, repository: Repository, id: number): void {
  assertWritable(repository);
  const { issue, comment } = findComment(repository, id);
  issue.comments = issue.comments.filter((other) => other !== comment);
  touch(world, issue);
  emitForComment(world, by, issue, comment, "deleted");
}

export function findComment(repository: Repository, id: number): { issue: Issue; comment: Comment } {
  for (const issue of repository.issues.values()) {
    const comment = issue.comments.find((other) => other.id === id);
    if (comment) return { issue, comment };
  }
  throw notFound();
}

function checkBody(body: string): void {
  if (body.trim() === "") throw validationFailed("IssueComment", "body", "missing_field");
  if (body.length > MAX_BODY_LENGTH) {
    throw tooLong("IssueComment", "data", "Body is too long (maximum is 65536 characters)");
  }
}

function emitForComment(
  world: World,
  by: Actor,
  issue: Issue,
  comment: Comment,
  action: string,
  more: JsonObject = {},
): void {
  emit(world, issue.repository, by, {
    event: "issue_comment",
    action,
    fields: () => ({
      issue: issueJson(world, issue),
      comment: commentJson(world, issue, comment),
      ...more,
    }),
  });
}
