import type { JsonObject } from "../json.ts";
import { issueJson } from "../payloads/issues.ts";
import { pullJson } from "../payloads/pulls.ts";
import { emit } from "./emit.ts";
import type { Actor, Issue } from "./model.ts";
import type { World } from "./world.ts";

/** Notes on the issue's timeline what happened. */
export function record(
  world: World,
  by: Actor,
  issue: Issue,
  event: string,
  details: JsonObject = {},
  commitId: string | null = null,
): void {
  issue.events.push({
    id: world.nextId(),
    event,
    actor: by.account,
    viaApp: by.viaApp,
    createdAt: world.now(),
    commitId,
    details,
  });
}

export function touch(world: World, issue: Issue): void {
  issue.updatedAt = world.now();
}

/** Sends `issues` for an issue and `pull_request` for a pull request. */
export function emitForIssue(
  world: World,
  by: Actor,
  issue: Issue,
  action: string,
  more: () => JsonObject = () => ({}),
): void {
  const { pull } = issue;
  emit(world, issue.repository, by, {
    event: pull ? "pull_request" : "issues",
    action,
    fields: () =>
      pull
        ? { number: issue.number, pull_request: pullJson(world, issue, pull), ...more() }
        : { issue: issueJson(world, issue), ...more() },
  });
}
