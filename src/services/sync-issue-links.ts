/**
 * Reads an issue's links from GitHub and makes the store's edges the same: what a backfill does, and whatever else
 * finds that events were missed. Asks only where the issue itself says that there are links, or where some are known.
 */

import type { GitHubIssue } from "../contract/github-payloads.ts";
import { type LinkedIssue, wholeIssue } from "../contract/link-payloads.ts";
import { compareWithList, type NativeRelation } from "../domain/native-edges.ts";
import { itemOfTarget } from "../domain/record-key.ts";
import type { Client } from "../github/connection.ts";
import { listBlockedBy, listSubIssues } from "../github/link-reads.ts";
import { readForeignAgain } from "../store/foreign-blockers.ts";
import { type IssueAt, isGone, type NativeEdge, nativeEdgesOf } from "../store/native-links.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { keepForeignBlockers } from "./foreign-blockers.ts";
import { findPlace, issueAt, type Place, placeOfUrl, targetOf } from "./link-ends.ts";
import { introduceClosed, lockIssueEdges, putEdges } from "./native-edges.ts";
import { ChangedMeanwhile } from "./settle-delivery.ts";

/** At most one request for what blocks the issue (a page), and one for its sub-issues; its parent it names itself. */
export async function syncIssueLinks(
  deps: Deps,
  client: Client,
  repository: Repository,
  issue: GitHubIssue,
): Promise<void> {
  const at: IssueAt = { repositoryId: repository.id, number: issue.number };
  const { issue_dependencies_summary: dependencies, sub_issues_summary: subIssues } = issue;
  if (dependencies) {
    const read = () =>
      dependencies.total_blocked_by > 0 ? listBlockedBy(client, repository, issue.number) : [];
    await syncEdges(deps, at, "blockedBy", issue.updated_at, async () => placesOf(deps, await read()));
  }
  if (!subIssues) return;
  await syncEdges(deps, at, "partOf", issue.updated_at, async () => {
    const place = issue.parent_issue_url ? await placeOfUrl(deps.db, issue.parent_issue_url) : null;
    return place ? [{ place, id: null, issue: null }] : [];
  });
  if (subIssues.total > 0) await takeSubIssues(deps, client, repository, issue);
}

export interface LinkDrift {
  readonly relation: NativeRelation;
  readonly target: string;
  /** Whether the edge is there. */
  readonly store: boolean;
  readonly github: boolean;
}

/** Where GitHub has the issue's own links otherwise than the store. Asks as `syncIssueLinks` does, and writes nothing. */
export async function linkDrift(
  deps: Deps,
  client: Client,
  repository: Repository,
  issue: GitHubIssue,
): Promise<LinkDrift[]> {
  const at: IssueAt = { repositoryId: repository.id, number: issue.number };
  const drift: LinkDrift[] = [];
  const compare = async (relation: NativeRelation, ends: readonly ListedEnd[]) => {
    const known = await nativeEdgesOf(deps.db, at, relation);
    const dead = new Set(await deadTargets(deps, known));
    const listed = edgesOf(relation, ends, issue.updated_at);
    for (const { target, present } of compareWithList(known, listed, new Date(), isSameEdge, (edge) =>
      dead.has(edge.target),
    ))
      drift.push({ relation, target, store: !present, github: present });
  };
  const { issue_dependencies_summary: dependencies, sub_issues_summary: subIssues } = issue;
  if (dependencies) {
    const blockers =
      dependencies.total_blocked_by > 0 ? await listBlockedBy(client, repository, issue.number) : [];
    await compare("blockedBy", await placesOf(deps, blockers));
  }
  if (subIssues) {
    const place = issue.parent_issue_url ? await placeOfUrl(deps.db, issue.parent_issue_url) : null;
    await compare("partOf", place ? [{ place, id: null, issue: null }] : []);
  }
  return drift;
}

const isSameEdge = (a: NativeEdge, b: NativeEdge): boolean =>
  a.repositoryId === b.repositoryId && a.target === b.target;

const edgesOf = (relation: NativeRelation, ends: readonly ListedEnd[], listedAt: Date): NativeEdge[] =>
  ends.map(({ place, id }) => {
    const facts = { relation, targetId: id, present: true, saidAt: listedAt, endAt: listedAt };
    return { ...facts, ...targetOf(place) };
  });

interface ListedEnd {
  readonly place: Place;
  readonly id: number | null;
  readonly issue: LinkedIssue | null;
}

async function placesOf(deps: Deps, listed: readonly LinkedIssue[]): Promise<ListedEnd[]> {
  const ends: ListedEnd[] = [];
  for (const issue of listed) {
    const place = await findPlace(deps.db, { id: issue.id, issue, repository: null });
    if (place) ends.push({ place, id: issue.id, issue });
  }
  return ends;
}

/** Makes the issue's edges of one relation those that GitHub lists. One to a tombstone stays, and goes on blocking. */
async function syncEdges(
  deps: Deps,
  at: IssueAt,
  relation: NativeRelation,
  listedAt: Date,
  list: () => Promise<readonly ListedEnd[]>,
): Promise<void> {
  const before = await nativeEdgesOf(deps.db, at, relation);
  const ends = await list();
  if (ends.length === 0 && before.every((edge) => !edge.present)) return;
  const kept = new Set(relation === "blockedBy" ? await deadTargets(deps, before) : []);
  const listed = edgesOf(relation, ends, listedAt);
  await deps.db.transaction().execute(async (trx) => {
    await lockIssueEdges(trx, at);
    const known = await nativeEdgesOf(trx, at, relation);
    // An event came while we read: which of the two is newer nobody can tell.
    if (JSON.stringify(known) !== JSON.stringify(before)) throw new ChangedMeanwhile();
    for (const { place, issue } of ends) await introduceClosed(trx, place, issue && wholeIssue(issue));
    const changes = compareWithList(known, listed, listedAt, isSameEdge, (edge) => kept.has(edge.target));
    await putEdges(trx, at, changes);
    if (relation === "blockedBy" && (await keepForeignBlockers(trx, at, ends)))
      await readForeignAgain(trx, at);
  });
}

async function deadTargets(deps: Deps, edges: readonly NativeEdge[]): Promise<string[]> {
  const dead: string[] = [];
  for (const { repositoryId, target } of edges) {
    const number = itemOfTarget(target);
    if (number !== null && (await isGone(deps.db, { repositoryId, number }))) dead.push(target);
  }
  return dead;
}

/** Sub-issues that are closed, or where the App is not, tell of their parent nowhere else. */
async function takeSubIssues(
  deps: Deps,
  client: Client,
  repository: Repository,
  parent: GitHubIssue,
): Promise<void> {
  const place = await findPlace(deps.db, {
    id: null,
    issue: { id: parent.id, number: parent.number },
    repository: { id: repository.id, full_name: `${repository.owner}/${repository.name}` },
  });
  const listed = await placesOf(deps, await listSubIssues(client, repository, parent.number));
  for (const { place: child, issue } of listed) {
    const from = issueAt(child);
    if (from === null || place === null) continue;
    const listedAt = new Date(issue?.updated_at ?? parent.updated_at);
    await syncEdges(deps, from, "partOf", listedAt, async () => [{ place, id: parent.id, issue: null }]);
  }
}
