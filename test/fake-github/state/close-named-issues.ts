import { roleOf } from "./author-association.ts";
import { closingReferences } from "./closing-keywords.ts";
import { closeIssue } from "./issues.ts";
import type { Actor, Repository } from "./model.ts";
import type { World } from "./world.ts";

/** What GitHub does with the closing keywords of text that reached the default branch. */
export function closeNamedIssues(
  world: World,
  by: Actor,
  repository: Repository,
  text: string | null,
  commitId: string | null,
): void {
  for (const { owner, name, number } of closingReferences(text)) {
    const target = owner && name ? world.findRepository(owner, name) : repository;
    const issue = target?.issues.get(number);
    if (!target || !issue || issue.pull || issue.state === "closed" || target.archived) continue;
    if (target !== repository && !mayClose(target, by)) continue;
    closeIssue(world, by, issue, "completed", commitId);
  }
}

function mayClose(target: Repository, by: Actor): boolean {
  return ["write", "maintain", "admin"].includes(roleOf(target, by.account));
}
