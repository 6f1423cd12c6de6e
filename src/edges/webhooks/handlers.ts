/** Probot's handlers: each parses its payload once and calls one service. */

import type { Probot } from "probot";
import {
  CheckSuitePayload,
  InstallationPayload,
  InstallationRepositoriesPayload,
  IssueCommentPayload,
  IssuesPayload,
  LabelPayload,
  PullRequestPayload,
  PullRequestReviewPayload,
  PushPayload,
  RepositoryPayload,
} from "../../contract/github-payloads.ts";
import { IssueDependenciesPayload, SubIssuesPayload } from "../../contract/link-payloads.ts";
import { cleanJson } from "../../domain/clean-text.ts";
import { applyComment } from "../../services/apply-comment.ts";
import { applyIssueEvent } from "../../services/apply-issue-event.ts";
import { applyDependencies, applySubIssues } from "../../services/apply-link-event.ts";
import { applyPullRequest } from "../../services/apply-pull.ts";
import { applyPush } from "../../services/apply-push.ts";
import {
  applyInstallation,
  applyInstallationRepositories,
  applyLabel,
  applyRepository,
} from "../../services/apply-repository-events.ts";
import { applyCheckSuite, applyReview } from "../../services/apply-review.ts";
import type { Deps } from "../../services/deps.ts";
import type { Receive } from "../../services/drain-inbox.ts";

/** The event's id is the delivery's number in the inbox: the service finishes it with its effect. */
const seqOf = (context: { id: string }): number => Number(context.id);

/** Registers every handler on a fresh Probot. Other events do nothing. */
export function registerHandlers(probot: Probot, deps: Deps): void {
  probot.on("issues", (c) => applyIssueEvent(deps, seqOf(c), IssuesPayload.parse(c.payload)));
  probot.on("issue_comment", (c) => applyComment(deps, seqOf(c), IssueCommentPayload.parse(c.payload)));
  probot.on("sub_issues", (c) => applySubIssues(deps, seqOf(c), SubIssuesPayload.parse(c.payload)));
  probot.on("issue_dependencies", (c) =>
    applyDependencies(deps, seqOf(c), IssueDependenciesPayload.parse(c.payload)),
  );
  probot.on("pull_request", (c) => applyPullRequest(deps, seqOf(c), PullRequestPayload.parse(c.payload)));
  probot.on("pull_request_review", (c) =>
    applyReview(deps, seqOf(c), PullRequestReviewPayload.parse(c.payload)),
  );
  probot.on("check_suite", (c) => applyCheckSuite(deps, seqOf(c), CheckSuitePayload.parse(c.payload)));
  probot.on("push", (c) => applyPush(deps, seqOf(c), PushPayload.parse(c.payload)));
  probot.on("label", (c) => applyLabel(deps, seqOf(c), LabelPayload.parse(c.payload)));
  probot.on("installation", (c) => applyInstallation(deps, seqOf(c), InstallationPayload.parse(c.payload)));
  probot.on("installation_repositories", (c) =>
    applyInstallationRepositories(deps, seqOf(c), InstallationRepositoriesPayload.parse(c.payload)),
  );
  probot.on("repository", (c) => applyRepository(deps, seqOf(c), RepositoryPayload.parse(c.payload)));
}

/** Runs a stored delivery through Probot. NUL and half surrogates, which PostgreSQL cannot hold, are replaced first. */
export function receiveThroughProbot(deps: Deps): Receive {
  return async (delivery) => {
    const { probot } = deps.github;
    if (!probot) throw new Error("no GitHub App is configured");
    const payload: unknown = cleanJson(JSON.parse(delivery.payload));
    const event = { id: String(delivery.seq), name: delivery.event, payload };
    // Probot types each event by its name; ours is only known when it arrives.
    await probot.receive(event as Parameters<Probot["receive"]>[0]);
  };
}
