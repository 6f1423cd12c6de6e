import type { JsonObject } from "../json.ts";
import { userJson } from "../payloads/accounts.ts";
import { commentJson, issueEventJson } from "../payloads/issues.ts";
import { reviewJson } from "../payloads/pulls.ts";
import type { Issue } from "../state/model.ts";
import type { World } from "../state/world.ts";

export type TimelineEntry = { id: number; render: (world: World) => JsonObject };

/** The events, the comments and the reviews in one list, oldest first. */
export function timeline(issue: Issue): TimelineEntry[] {
  const events = issue.events.map((event) => ({
    id: event.id,
    render: (world: World) => issueEventJson(world, issue, event),
  }));
  const comments = issue.comments.map((comment) => ({
    id: comment.id,
    render: (world: World): JsonObject => ({
      ...commentJson(world, issue, comment),
      event: "commented",
      actor: userJson(world, comment.author),
    }),
  }));
  const reviews = (issue.pull?.reviews ?? []).map((review) => ({
    id: review.id,
    render: (world: World): JsonObject => ({
      ...reviewJson(world, issue, review),
      state: review.state,
      event: "reviewed",
    }),
  }));
  return [...events, ...comments, ...reviews].sort((a, b) => a.id - b.id);
}
