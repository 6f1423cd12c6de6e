import type { JsonObject } from "../json.ts";
import { authorAssociation } from "../state/author-association.ts";
import type { Comment, Issue, IssueEvent } from "../state/model.ts";
import type { World } from "../state/world.ts";
import { authorJson, userJson, viaAppJson } from "./accounts.ts";
import { labelJson, repositoryHtmlUrl, repositoryUrl } from "./repositories.ts";
import { isoTime, isoTimeOrNull, nodeId } from "./times-and-ids.ts";

export function issueUrl(world: World, issue: Issue): string {
  return `${repositoryUrl(world, issue.repository)}/issues/${issue.number}`;
}

export function issueHtmlUrl(issue: Issue): string {
  return `${repositoryHtmlUrl(issue.repository)}/${issue.pull ? "pull" : "issues"}/${issue.number}`;
}

/** An issue, or the issue side of a pull request. */
export function issueJson(world: World, issue: Issue): JsonObject {
  const url = issueUrl(world, issue);
  const [assignee] = issue.assignees;
  return {
    url,
    repository_url: repositoryUrl(world, issue.repository),
    labels_url: `${url}/labels{/name}`,
    comments_url: `${url}/comments`,
    events_url: `${url}/events`,
    html_url: issueHtmlUrl(issue),
    id: issue.id,
    node_id: nodeId(issue.pull ? "PR" : "I", issue.pull?.id ?? issue.id),
    number: issue.number,
    title: issue.title,
    user: authorJson(world, issue.author),
    labels: issue.labels.map((label) => labelJson(world, issue.repository, label)),
    state: issue.state,
    locked: issue.locked,
    assignee: assignee ? userJson(world, assignee) : null,
    assignees: issue.assignees.map((account) => userJson(world, account)),
    milestone: issue.milestone === null ? null : { title: issue.milestone },
    comments: issue.comments.length,
    created_at: isoTime(issue.createdAt),
    updated_at: isoTime(issue.updatedAt),
    closed_at: isoTimeOrNull(issue.closedAt),
    author_association: authorAssociation(issue.repository, issue.author),
    active_lock_reason: null,
    ...(issue.pull ? pullPart(world, issue) : linksPart(world, issue)),
    body: issue.body,
    reactions: reactionsJson(url),
    timeline_url: `${url}/timeline`,
    performed_via_github_app: viaAppJson(world, issue.viaApp),
    state_reason: issue.stateReason,
  };
}

/** GET of one issue says who closed it; lists and webhooks do not. */
export function singleIssueJson(world: World, issue: Issue): JsonObject {
  return { ...issueJson(world, issue), closed_by: authorJson(world, issue.closedBy) };
}

export function commentJson(world: World, issue: Issue, comment: Comment): JsonObject {
  const url = `${repositoryUrl(world, issue.repository)}/issues/comments/${comment.id}`;
  return {
    url,
    html_url: `${issueHtmlUrl(issue)}#issuecomment-${comment.id}`,
    issue_url: issueUrl(world, issue),
    id: comment.id,
    node_id: nodeId("IC", comment.id),
    user: authorJson(world, comment.author),
    created_at: isoTime(comment.createdAt),
    updated_at: isoTime(comment.updatedAt),
    author_association: authorAssociation(issue.repository, comment.author),
    body: comment.body,
    reactions: reactionsJson(url),
    performed_via_github_app: viaAppJson(world, comment.viaApp),
  };
}

export function issueEventJson(world: World, issue: Issue, event: IssueEvent): JsonObject {
  const repository = repositoryUrl(world, issue.repository);
  return {
    id: event.id,
    node_id: nodeId("IE", event.id),
    url: `${repository}/issues/events/${event.id}`,
    actor: authorJson(world, event.actor),
    event: event.event,
    commit_id: event.commitId,
    commit_url: event.commitId ? `${repository}/commits/${event.commitId}` : null,
    created_at: isoTime(event.createdAt),
    ...event.details,
    performed_via_github_app: viaAppJson(world, event.viaApp),
  };
}

function pullPart(world: World, issue: Issue): JsonObject {
  const html = issueHtmlUrl(issue);
  return {
    draft: issue.pull?.draft ?? false,
    pull_request: {
      url: `${repositoryUrl(world, issue.repository)}/pulls/${issue.number}`,
      html_url: html,
      diff_url: `${html}.diff`,
      patch_url: `${html}.patch`,
      merged_at: isoTimeOrNull(issue.pull?.merged?.at ?? null),
    },
  };
}

function linksPart(world: World, issue: Issue): JsonObject {
  const completed = issue.subIssues.filter((sub) => sub.state === "closed").length;
  const total = issue.subIssues.length;
  return {
    type: null,
    sub_issues_summary: {
      total,
      completed,
      percent_completed: total === 0 ? 0 : Math.floor((completed / total) * 100),
    },
    issue_dependencies_summary: {
      blocked_by: issue.blockedBy.filter((blocker) => blocker.state === "open").length,
      total_blocked_by: issue.blockedBy.length,
      blocking: issue.blocking.filter((blocked) => blocked.state === "open").length,
      total_blocking: issue.blocking.length,
    },
    ...(issue.parent ? { parent_issue_url: issueUrl(world, issue.parent) } : {}),
  };
}

function reactionsJson(url: string): JsonObject {
  return {
    url: `${url}/reactions`,
    total_count: 0,
    "+1": 0,
    "-1": 0,
    laugh: 0,
    hooray: 0,
    confused: 0,
    heart: 0,
    rocket: 0,
    eyes: 0,
  };
}
